// Command istio is istiod; with the word "judge", it judges objects by the validation that istiod's webhook runs.
//
// One program, because both are the same hundred megabytes. The judge reads lines {"object": {…}} and answers each with
// a line {"error": "…", "warning": "…"}; empty texts are praise.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"istio.io/istio/pilot/cmd/pilot-discovery/app"
	"istio.io/istio/pilot/pkg/config/kube/crd"
	"istio.io/istio/pkg/config/schema/collections"
	"istio.io/istio/pkg/config/schema/resource"
	"istio.io/istio/pkg/log"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const longestLine = 1 << 26

type question struct {
	Object json.RawMessage `json:"object"`
}

type answer struct {
	Error   string `json:"error"`
	Warning string `json:"warning"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 && os.Args[1] == "judge" {
		return judge(os.Stdin, os.Stdout)
	}
	log.EnableKlogWithCobra()
	return app.NewRootCommand().Execute()
}

func judge(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		if err := answers.Encode(said(asked.Object)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func said(object json.RawMessage) answer {
	warning, err := validated(object)
	return answer{Error: words(err), Warning: words(warning)}
}

func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func validated(object json.RawMessage) (warning, err error) {
	var written crd.IstioKind
	if err := json.Unmarshal(object, &written); err != nil {
		return nil, err
	}
	kind := schema.FromAPIVersionAndKind(written.APIVersion, written.Kind)
	known, found := of(kind)
	if !found {
		return nil, fmt.Errorf("Istio has no kind %s", kind)
	}
	config, err := crd.ConvertObject(known, &written, "cluster.local")
	if err != nil {
		return nil, err
	}
	return known.ValidateConfig(*config)
}

func of(kind schema.GroupVersionKind) (resource.Schema, bool) {
	for _, known := range collections.Pilot.All() {
		if known.Group() == kind.Group && known.Kind() == kind.Kind {
			return known, true
		}
	}
	return nil, false
}
