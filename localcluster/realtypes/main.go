// Decodes objects of gateway kinds strictly into the types their projects publish.
//
// Why it exists: a script may write a field that does not exist, and an API server without the kind's CRD would not
// say so. Reads one JSON object per line, {"object": {...}}, and answers each with one line, {"error": "..."}; with the
// argument "kinds" it lists what it knows. A field that the type does not have, or has in another case, is an error.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// longestLine bounds an object; the API server's own limit is below it.
const longestLine = 8 << 20

type question struct {
	Object json.RawMessage `json:"object"`
}

type answer struct {
	Error string `json:"error"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "kinds" {
		listKinds()
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var said answer
		if err := judge(lines.Bytes()); err != nil {
			said.Error = err.Error()
		}
		if err := answers.Encode(said); err != nil {
			fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func judge(line []byte) error {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return fmt.Errorf("not a question: %w", err)
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(asked.Object, &meta); err != nil {
		return fmt.Errorf("not an object: %w", err)
	}
	group, version, _ := strings.Cut(meta.APIVersion, "/")
	known, ok := kinds[group+"/"+meta.Kind]
	if !ok {
		return fmt.Errorf("no type for %s %s", meta.APIVersion, meta.Kind)
	}
	decode, ok := known.versions[version]
	if !ok {
		return fmt.Errorf("%s %s is not served in version %q", group, meta.Kind, version)
	}
	return decode(asked.Object)
}

func listKinds() {
	listed := map[string]string{}
	for name, known := range kinds {
		listed[name] = known.source
	}
	if err := json.NewEncoder(os.Stdout).Encode(listed); err != nil {
		fail(err)
	}
}
