// Checks a history of registers or of bank transfers for linearizability.
//
//	checker registers|bank HISTORY
//
// Prints one JSON object. Exit codes: 0 linearizable, 1 not, 2 the history
// cannot be checked: malformed, or too large or too concurrent for an answer.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	maxOperations = 20000 // of one partition
	timeout       = 60 * time.Second
)

type report struct {
	Valid       string   `json:"valid"` // true, false or unknown
	Operations  int      `json:"operations"`
	Unknown     int      `json:"unknown"` // operations without an outcome
	Partitions  int      `json:"partitions"`
	Largest     int      `json:"largest"`     // operations of a partition
	Concurrency int      `json:"concurrency"` // the most within a partition
	Violations  []string `json:"violations"`
}

// Where to look first: the last call of the shortest prefix, in the order of
// calls, that is not linearizable by itself.
func firstBad(model porcupine.Model, part []porcupine.Operation) string {
	low, high := 1, len(part)
	for low < high {
		middle := (low + high) / 2
		ops := append([]porcupine.Operation{}, part[:middle]...)
		if porcupine.CheckOperationsTimeout(model, ops, timeout) ==
			porcupine.Illegal {
			high = middle
		} else {
			low = middle + 1
		}
	}
	bad := part[low-1]
	return fmt.Sprintf("process %d at %d: %s", bad.ClientId, bad.Call,
		describe(bad.Input, bad.Output))
}

func check(kind, path string) (report, error) {
	r := report{Valid: "true", Violations: []string{}}
	load, there := workloads[kind]
	if !there {
		return r, fmt.Errorf("no such workload: %q", kind)
	}
	operations, unknown, err := readHistory(path)
	if err != nil {
		return r, err
	}
	r.Operations, r.Unknown = len(operations), unknown
	names, parts := partition(operations, load.name)
	r.Partitions = len(names)
	for _, name := range names {
		part := parts[name]
		if len(part) > maxOperations {
			return r, fmt.Errorf("%s has %d operations, more than %d", name,
				len(part), maxOperations)
		}
		if len(part) > r.Largest {
			r.Largest = len(part)
		}
		if c := concurrency(part); c > r.Concurrency {
			r.Concurrency = c
		}
		result, info := porcupine.CheckOperationsVerbose(load.model, part, timeout)
		switch result {
		case porcupine.Illegal:
			r.Valid = "false"
			r.Violations = append(r.Violations, name+": "+firstBad(load.model, part))
			picture := fmt.Sprintf("%s.%s.html", path,
				strings.ReplaceAll(name, "/", "_"))
			if err := porcupine.VisualizePath(load.model, info, picture); err != nil {
				fmt.Fprintln(os.Stderr, "checker:", err)
			}
		case porcupine.Unknown:
			if r.Valid == "true" {
				r.Valid = "unknown"
			}
			r.Violations = append(r.Violations, fmt.Sprintf(
				"%s: no answer within %v: %d operations, %d at once", name, timeout,
				len(part), concurrency(part)))
		}
	}
	return r, nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: checker registers|bank HISTORY")
		os.Exit(2)
	}
	r, err := check(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "checker:", err)
		os.Exit(2)
	}
	json.NewEncoder(os.Stdout).Encode(r)
	switch r.Valid {
	case "false":
		os.Exit(1)
	case "unknown":
		os.Exit(2)
	}
}
