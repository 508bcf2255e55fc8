"""A lock with a fence, for Python: the standard library and the scripts of lockclient.

    with Lock("127.0.0.1:6379", "http://127.0.0.1:8080", "/reports/q3.csv", scripts="lockclient") as lock:
        status, reason = lock.write(b"...")  # the resource is an ASCII path; lockclient/CONTRACT.md explains each step
"""
import contextlib, http.client, json, pathlib, random, secrets, socket, threading, time, urllib.parse


clock = lambda: time.clock_gettime(time.CLOCK_BOOTTIME)  # seconds; it goes on while the machine sleeps


class Lock:
    def __init__(self, redis, fence, resource, scripts, ttl=15.0, wait=60.0):
        self.redis, self.fence, self.resource, self.ttl, self.wait = redis, urllib.parse.urlsplit(fence), resource, ttl, wait
        self.scripts, self.key = pathlib.Path(scripts), "{fencegate}:lock:" + resource

    def lua(self, script, keys, *args):
        """One call on a connection of its own (RESP2): the strings of the answer."""
        words = ["EVAL", (self.scripts / (script + ".lua")).read_text(), str(len(keys)), *keys, *args]
        host, port = self.redis.rsplit(":", 1)
        with socket.create_connection((host, port), self.ttl / 4) as conn, conn.makefile("rb") as answer:
            conn.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(w.encode()), w.encode()) for w in words))
            line = answer.readline().rstrip().decode()
            if not line.startswith("*"):
                raise OSError("Redis says " + line)
            return [answer.read(int(answer.readline()[1:]) + 2)[:-2].decode() for _ in range(int(line[1:]))]

    def __enter__(self):
        self.owner, self.released, give_up = secrets.token_hex(16), threading.Event(), clock() + self.wait
        try:
            while (got := self.extend("acquire", [self.key, "{fencegate}:token"], "0", "time"))[0] == "held" and clock() < give_up:
                time.sleep(random.uniform(0.01, 1))
            if got[0] != "ok":
                raise TimeoutError(f"{self.resource}: {got}")
            self.token = got[1]
            self.renewal = threading.Thread(target=self.renew, daemon=True)
            self.renewal.start()
            claim = {"resource": self.resource, "token": self.token, "owner": self.owner, "client": "python"}
            status, reason, body = self.ask("POST", "/.well-known/fencegate/claims", json.dumps(claim), {"Content-Type": "application/json"})
            answer = json.loads(body) if status == 200 else {"resources": [], "token": ""}
            if [r["resource"] for r in answer["resources"]] != [self.resource] or answer["token"] != self.token:
                raise PermissionError(f"{self.resource}: the claim is answered {status} {reason}")
            return self
        except BaseException:
            self.__exit__()  # also without an answer: it may have been taken
            raise

    def extend(self, script, keys, *args):
        sent = clock()
        got = self.lua(script, keys, self.owner, str(int(self.ttl * 1000)), *args)
        self.deadline = sent + self.ttl * 0.99 - 0.002 if got[0] == "ok" else 0
        return got

    def renew(self):
        pause = self.ttl / 3
        while not self.released.wait(pause) and clock() < self.deadline:
            pause = self.ttl / 20
            with contextlib.suppress(OSError):  # until the deadline
                if self.extend("renew", [self.key])[0] != "ok":
                    return
                pause = self.ttl / 3

    def __exit__(self, *_):
        self.released.set()
        if hasattr(self, "renewal"):
            self.renewal.join()
        self.lua("release", [self.key], self.owner, "{fencegate}:free:" + self.resource)

    def ask(self, method, path, body, headers):
        kind = http.client.HTTPSConnection if self.fence.scheme == "https" else http.client.HTTPConnection
        with contextlib.closing(kind(self.fence.netloc, timeout=self.wait)) as conn:  # follows no redirect, repeats nothing
            conn.request(method, path, body, headers)
            answer = conn.getresponse()
            return answer.status, answer.headers.get("X-Fencing-Reason", ""), answer.read()

    def write(self, body, look=True):
        """Status, and the fence's reason if it refused. Nothing is sent once the lease is over."""
        if look and clock() >= self.deadline:
            raise TimeoutError(f"the lease on {self.resource} is over")
        return self.ask("PUT", self.resource, body, {"X-Fencing-Token": self.token, "X-Fencing-Owner": self.owner})[:2]
