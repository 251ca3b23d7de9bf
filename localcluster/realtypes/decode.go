package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// decoder reads one object of one version, and refuses what its type does not have.
type decoder func([]byte) error

// kind is where its types come from (a module at the version in go.mod, or the public schema that a subset of our own
// was written from) and how each served version is read.
type kind struct {
	source   string
	versions map[string]decoder
}

// served gives several versions the same schema.
func served(decode decoder, versions ...string) map[string]decoder {
	all := map[string]decoder{}
	for _, version := range versions {
		all[version] = decode
	}
	return all
}

// strictly decodes into a Go type as the API server does for built-in kinds, but refuses unknown fields.
func strictly[T any](data []byte) error {
	var object T
	unknown, err := kjson.UnmarshalStrict(data, &object)
	if err != nil {
		return err
	}
	return errors.Join(unknown...)
}

// envelope is an object whose spec is a protocol buffer message.
type envelope struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            json.RawMessage   `json:"spec"`
}

// message decodes the spec as protocol buffers' JSON does by default: unknown fields are errors.
func message[T proto.Message](data []byte) error {
	var object envelope
	unknown, err := kjson.UnmarshalStrict(data, &object)
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		return errors.Join(unknown...)
	}
	var none T
	spec := none.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(object.Spec, spec); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	return nil
}

// bare is a kind of our own subset: metadata as everywhere, and a spec of the given type.
type bare[Spec any] struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            Spec              `json:"spec"`
}
