# The image of fencegate: the binary alone, run by a user without a name.
#
#   docker build -t fencegate .
#
# The ledger is made once, by hand, before the first start; CMD must never do
# it, or a lost volume would come back as an empty ledger:
#
#   docker run --rm -v fencegate-state:/var/lib/fencegate/state -v fencegate-data:/var/lib/fencegate/data \
#       fencegate ledger init --state /var/lib/fencegate/state --upstream dir:/var/lib/fencegate/data

FROM golang:1.26 AS build
WORKDIR /src

# A layer of their own: modules change less often than code.
COPY go.mod go.sum ./
RUN go mod download

# Named one by one: what lies beside them (data, ledgers, .git) stays out.
COPY cmd cmd
COPY fence fence
COPY lockclient lockclient
COPY proxy proxy
COPY store store
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/fencegate ./cmd/fencegate

# scratch has no shell to make them with. A new volume takes over their owner
# and mode.
RUN mkdir -p /out/lib/state /out/lib/data && chmod 700 /out/lib/state /out/lib/data

FROM scratch
# For a store that is reached by https.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/fencegate /fencegate
COPY --from=build --chown=65532:65532 /out/lib /var/lib/fencegate

# Nothing else is written, so the root can be read-only.
VOLUME ["/var/lib/fencegate/state", "/var/lib/fencegate/data"]

# A number, since there is no /etc/passwd, and so that an orchestrator can see
# that it is not root.
USER 65532:65532

EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 \
    CMD ["/fencegate", "healthcheck", "--admin", "127.0.0.1:8081"]

ENTRYPOINT ["/fencegate"]

# Loopback would be out of everybody's reach in here. Who can connect is decided
# by the networks that the container is attached to and the ports that are
# published: publish on 127.0.0.1 only, or behind something that authenticates.
# --auth none stands here and not in ENV, so that whoever writes a command of
# their own decides anew; without it fencegate listens on loopback only.
CMD ["serve", \
    "--upstream", "dir:/var/lib/fencegate/data", \
    "--state", "/var/lib/fencegate/state", \
    "--listen", "0.0.0.0:8080", \
    "--admin", "0.0.0.0:8081", \
    "--auth", "none"]
