package integration

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var numericUser = regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`)

// dockerfileFaults says what in a Dockerfile is unsafe.
func dockerfileFaults(stages []stage) (faults []string) {
	fault := func(line int, format string, args ...any) {
		faults = append(faults, fmt.Sprintf("Dockerfile:%d: ", line)+fmt.Sprintf(format, args...))
	}
	for _, s := range stages {
		for _, i := range s.steps {
			if i.name == "ADD" {
				fault(i.line, "ADD fetches and unpacks what nobody has checked; use COPY")
			}
			if i.name == "COPY" && i.flags["from"] == "" && slices.Contains(strings.Fields(i.rest), ".") {
				fault(i.line, "COPY . takes in ledgers and data that lie about; name what is needed")
			}
			if strings.Contains(i.rest, "--init") || strings.Contains(i.rest, "ledger") && i.name != "VOLUME" {
				fault(i.line, "a start that makes the ledger replaces a lost one by an empty one")
			}
			if strings.Contains(i.rest, "curl") || strings.Contains(i.rest, "wget") {
				fault(i.line, "it fetches what nobody has checked")
			}
			if i.name == "ENV" && strings.Contains(i.rest, "AUTH") {
				fault(i.line, "--auth must be written out by whoever writes a command")
			}
		}
	}
	final := stages[len(stages)-1]
	if final.base != "scratch" {
		fault(0, "the image is made from %s, not from scratch", final.base)
	}
	if user, ok := final.last("USER"); !ok || !numericUser.MatchString(user.rest) {
		fault(user.line, "USER %q: expected a user and a group by number, not root", user.rest)
	}
	entry, cmd := []string{}, []string{}
	for name, words := range map[string]*[]string{"ENTRYPOINT": &entry, "CMD": &cmd, "HEALTHCHECK": new([]string)} {
		i, ok := final.last(name)
		if !ok {
			fault(0, "there is no %s", name)
			continue
		}
		list, err := i.list()
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		*words = list
		if name == "HEALTHCHECK" && (len(list) < 2 || list[0] != "/fencegate" || list[1] != "healthcheck") {
			fault(i.line, "HEALTHCHECK %q: expected /fencegate healthcheck, the image holds nothing else", list)
		}
	}
	if !slices.Equal(entry, []string{"/fencegate"}) {
		fault(0, "ENTRYPOINT %q: expected the binary alone", entry)
	}
	volumes, _ := final.last("VOLUME")
	kept, _ := volumes.list()
	for flag, value := range map[string]string{"--state": "", "--upstream": "dir:"} {
		at := slices.Index(cmd, flag)
		if at < 0 || at+1 == len(cmd) {
			fault(0, "CMD %q does not name its %s", cmd, flag)
			continue
		}
		if path := strings.TrimPrefix(cmd[at+1], value); !slices.Contains(kept, path) {
			fault(0, "%s %s is no VOLUME: it would be lost with the container", flag, path)
		}
	}
	exposed, _ := final.last("EXPOSE")
	for _, flag := range []string{"--listen", "--admin"} {
		at := slices.Index(cmd, flag)
		if at < 0 || at+1 == len(cmd) {
			fault(0, "CMD %q does not name its %s", cmd, flag)
			continue
		}
		if _, port, _ := net.SplitHostPort(cmd[at+1]); !slices.Contains(strings.Fields(exposed.rest), port) {
			fault(exposed.line, "EXPOSE %s lacks the port of %s", exposed.rest, flag)
		}
	}
	return faults
}

func TestDockerfileIsSafe(t *testing.T) {
	for _, fault := range dockerfileFaults(dockerfile(t)) {
		t.Error(fault)
	}
}

func TestDockerfileFaultsAreFound(t *testing.T) {
	const good = "FROM golang AS build\nRUN go build\nFROM scratch\nCOPY --from=build /x /fencegate\nVOLUME [\"/s\", \"/d\"]\nUSER 5:5\nEXPOSE 8 9\n" +
		"HEALTHCHECK CMD [\"/fencegate\", \"healthcheck\"]\nENTRYPOINT [\"/fencegate\"]\nCMD [\"serve\", \"--state\", \"/s\", \"--upstream\", \"dir:/d\", \"--listen\", \":8\", \"--admin\", \":9\"]\n"
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"RUN go build", "RUN go build\nADD https://example.com/x /x", "ADD fetches"},
		{"RUN go build", "RUN curl https://example.com/x", "nobody has checked"},
		{"RUN go build", "COPY . .", "name what is needed"},
		{"FROM scratch", "FROM debian", "not from scratch"},
		{"USER 5:5", "USER nobody", "by number"},
		{"USER 5:5", "USER 0:0", "by number"},
		{"USER 5:5", "USER 5:5\nUSER root", "by number"},
		{"USER 5:5\n", "", "by number"},
		{`CMD ["/fencegate", "healthcheck"]`, `CMD ["/curl", "x"]`, "holds nothing else"},
		{`CMD ["/fencegate", "healthcheck"]`, `CMD /fencegate healthcheck`, "for a shell"},
		{`HEALTHCHECK CMD ["/fencegate", "healthcheck"]`, "", "no HEALTHCHECK"},
		{`"serve", `, `"serve", "--init", `, "replaces a lost one"},
		{`ENTRYPOINT ["/fencegate"]`, `ENTRYPOINT ["/fencegate", "serve", "--init"]`, "replaces a lost one"},
		{`"--state", "/s", `, "", "does not name its --state"},
		{`"/d"]`, `"/e"]`, "no VOLUME"},
		{"EXPOSE 8 9", "EXPOSE 8", "the port of --admin"},
		{"USER 5:5", "USER 5:5\nENV FENCEGATE_AUTH=none", "written out"},
	} {
		stages, err := parseDockerfile(strings.Replace(good, c.old, c.new, 1))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(dockerfileFaults(stages), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.new, got, c.want)
		}
	}
}
