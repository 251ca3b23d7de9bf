// Command cue renders a CUE template as KubeVela does: the template, then `parameter` and `context` as JSON.
//
// It reads one JSON object {"template", "parameter", "context"} and writes the field `outputs`.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

type request struct {
	Template  string          `json:"template"`
	Parameter json.RawMessage `json:"parameter"`
	Context   json.RawMessage `json:"context"`
}

func main() {
	if err := render(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func render(in io.Reader, out io.Writer) error {
	var asked request
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return err
	}
	text := fmt.Sprintf("%s\nparameter: %s\ncontext: %s\n", asked.Template, asked.Parameter, asked.Context)
	whole := cuecontext.New().CompileString(text)
	if err := whole.Err(); err != nil {
		return err
	}
	outputs := whole.LookupPath(cue.ParsePath("outputs"))
	if err := outputs.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return err
	}
	said, err := outputs.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = out.Write(append(said, '\n'))
	return err
}
