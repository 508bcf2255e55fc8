package integration

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// composition is as much of the compose format as ours uses: a key that is not
// here is a slip.
type composition struct {
	Name     string                         `yaml:"name"`
	Services map[string]composedService     `yaml:"services"`
	Networks map[string]composedNetwork     `yaml:"networks"`
	Volumes  map[string]map[string]struct{} `yaml:"volumes"`
}

type composedNetwork struct {
	Internal bool `yaml:"internal"`
}

type composedService struct {
	Image       string         `yaml:"image"`
	Build       *composedBuild `yaml:"build"`
	Profiles    []string       `yaml:"profiles"`
	Entrypoint  []string       `yaml:"entrypoint"`
	Command     []string       `yaml:"command"`
	User        string         `yaml:"user"`
	Networks    []string       `yaml:"networks"`
	NetworkMode string         `yaml:"network_mode"`
	Ports       []string       `yaml:"ports"`
	Volumes     []string       `yaml:"volumes"`
	Tmpfs       []string       `yaml:"tmpfs"`
	ReadOnly    bool           `yaml:"read_only"`
	CapDrop     []string       `yaml:"cap_drop"`
	SecurityOpt []string       `yaml:"security_opt"`
	Healthcheck *struct {
		Test        []string `yaml:"test"`
		Interval    string   `yaml:"interval"`
		Timeout     string   `yaml:"timeout"`
		StartPeriod string   `yaml:"start_period"`
	} `yaml:"healthcheck"`
	StopGracePeriod string   `yaml:"stop_grace_period"`
	Restart         string   `yaml:"restart"`
	DependsOn       []string `yaml:"depends_on"`
}

type composedBuild struct {
	Context string `yaml:"context"`
}

const composeFile = "integration/deploy/compose.yaml"

func composed(t testing.TB) composition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, composeFile))
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseComposition(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parseComposition(text []byte) (c composition, err error) {
	err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&c)
	return c, err
}

// composeFaults says what would let writes go around the fence, or give a
// container more than it needs.
func composeFaults(c composition) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		s := c.Services[name]
		if !s.ReadOnly {
			fault("%s: its root can be written", name)
		}
		if !slices.Equal(s.CapDrop, []string{"ALL"}) {
			fault("%s: cap_drop %q, want ALL", name, s.CapDrop)
		}
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			fault("%s: it can gain privileges", name)
		}
		for _, port := range s.Ports {
			// Without an address it is published on all of them.
			if ip, _, _ := strings.Cut(port, ":"); net.ParseIP(ip) == nil || !net.ParseIP(ip).IsLoopback() {
				fault("%s: port %s is published beyond this machine", name, port)
			}
		}
		makes := slices.ContainsFunc(s.Command, func(word string) bool { return word == "init" || strings.HasPrefix(word, "--init") })
		if makes && (len(s.Profiles) == 0 || s.Restart != "no") {
			fault("%s: it makes a ledger at each start: a lost one comes back empty", name)
		}
	}
	gate, store := c.Services["fencegate"], c.Services["store"]
	if gate.Healthcheck == nil || len(gate.Healthcheck.Test) < 3 || !slices.Equal(gate.Healthcheck.Test[:3], []string{"CMD", "/fencegate", "healthcheck"}) {
		fault("fencegate: its health is not checked by the binary")
	}
	if len(store.Ports) > 0 || store.NetworkMode != "" {
		fault("store: it can be reached around fencegate")
	}
	if len(store.Networks) == 0 {
		fault("store: it is on the default network, with everybody")
	}
	for _, network := range store.Networks {
		if !c.Networks[network].Internal {
			fault("store: its network %s leads outside", network)
		}
		for _, name := range slices.Sorted(maps.Keys(c.Services)) {
			if name != "store" && name != "fencegate" && (slices.Contains(c.Services[name].Networks, network)) {
				fault("%s: it is on the store's network %s", name, network)
			}
		}
		if !slices.Contains(gate.Networks, network) {
			fault("fencegate: it is not on the store's network %s", network)
		}
	}
	return faults
}

func TestComposeIsSafe(t *testing.T) {
	c := composed(t)
	for _, fault := range composeFaults(c) {
		t.Error(fault)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Services)) {
		s := c.Services[name]
		if s.Build != nil {
			if _, err := os.Stat(filepath.Join(top, filepath.Dir(composeFile), s.Build.Context, "Dockerfile")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if strings.HasPrefix(source, ".") {
				if _, err := os.Stat(filepath.Join(top, filepath.Dir(composeFile), source)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			} else if _, ok := c.Volumes[source]; !ok {
				t.Errorf("%s: there is no volume %q", name, source)
			}
		}
	}
	// The store's volume has its owner from the image of fencegate.
	final := dockerfile(t)
	if user, _ := final[len(final)-1].last("USER"); c.Services["store"].User != user.rest {
		t.Errorf("the store runs as %s, its volume is of %s", c.Services["store"].User, user.rest)
	}
}

func TestComposeFaultsAreFound(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, composeFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"127.0.0.1:8080:8080", "8080:8080", "published beyond"},
		{"127.0.0.1:8081:8081", "0.0.0.0:8081:8081", "published beyond"},
		{"    read_only: true\n    cap_drop: [ALL]\n    security_opt: [no-new-privileges:true]\n    healthcheck", "    healthcheck", "its root can be written"},
		{"cap_drop: [ALL]", "cap_drop: [CHOWN]", "want ALL"},
		{"    security_opt: [no-new-privileges:true]\n", "", "can gain privileges"},
		{"    profiles: [init]\n", "", "comes back empty"},
		{"restart: \"no\"", "restart: always", "comes back empty"},
		{"- serve\n", "- serve\n      - --init\n", "comes back empty"},
		{"networks: [store]", "networks: [store]\n    ports: [127.0.0.1:8082:8082]", "around fencegate"},
		{"networks: [store]", "network_mode: host", "around fencegate"},
		{"networks: [store]", "networks: [clients]", "leads outside"},
		{"    networks: [store]\n", "", "with everybody"},
		{"internal: true", "internal: false", "leads outside"},
		{"network_mode: none", "networks: [store]", "on the store's network"},
		{"networks: [clients, store]", "networks: [clients]", "not on the store's network"},
		{"/fencegate, healthcheck", "curl, -f", "not checked by the binary"},
		{"read_only", "readonly", "readonly"},
	} {
		if !bytes.Contains(text, []byte(c.old)) {
			t.Errorf("there is no %q", c.old)
			continue
		}
		got := ""
		if comp, err := parseComposition(bytes.Replace(text, []byte(c.old), []byte(c.new), 1)); err != nil {
			got = err.Error()
		} else {
			got = strings.Join(composeFaults(comp), "\n")
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q for %q: got %q, want %q", c.new, c.old, got, c.want)
		}
	}
}
