package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"

	"github.com/anishathalye/porcupine"
)

// One line of a history: a call, or how it ended. The format is described in
// docs/testing/chaos.md.
type event struct {
	Time    int64  `json:"t"` // nanoseconds of a monotonic clock
	Process int    `json:"p"`
	Kind    string `json:"e"` // invoke, ok, fail or unknown
	Op      string `json:"op"`

	// Registers.
	Key    string  `json:"key"`
	Value  *string `json:"value"`
	Expect *string `json:"expect"`
	Offset int     `json:"offset"`
	Found  *bool   `json:"found"`
	Done   *bool   `json:"done"`
	// The version that was read or written, and the one that a comparison
	// expects instead of a value. 0 is none.
	Version       *int64 `json:"version"`
	ExpectVersion *int64 `json:"expect_version"`

	// Bank.
	Bank     string  `json:"bank"`
	From     int     `json:"from"`
	To       int     `json:"to"`
	Amount   int64   `json:"amount"`
	Balances []int64 `json:"balances"`
}

const forever = math.MaxInt64

// check checks what the models rely on.
func (e event) check() error {
	writes := e.Op == "put" || e.Op == "cas" || e.Op == "patch"
	if writes && e.Value == nil {
		return fmt.Errorf("%s without a value", e.Op)
	}
	if e.ExpectVersion != nil && *e.ExpectVersion <= 0 {
		return fmt.Errorf("%s with version %d", e.Op, *e.ExpectVersion)
	}
	if e.Offset < 0 || e.From < 0 || e.To < 0 ||
		len(e.Balances) > maxAccounts {
		return fmt.Errorf("%s out of bounds", e.Op)
	}
	return nil
}

// Pairs calls with their ends. What failed has not happened and what was read
// without an answer means nothing: neither is returned. An operation whose
// outcome is unknown never returns: it may happen at any time, or after all
// others, which is as good as never.
func readHistory(path string) ([]porcupine.Operation, int, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	var operations []porcupine.Operation
	unknown := 0
	open := map[int]event{}
	keep := func(call event, end event) {
		if end.Kind == "fail" || (end.Kind == "unknown" && readOnly[call.Op]) {
			return
		}
		operation := porcupine.Operation{
			ClientId: call.Process, Input: call, Call: call.Time,
			Output: end, Return: end.Time}
		if end.Kind == "unknown" {
			operation.Return = forever
			unknown++
		}
		operations = append(operations, operation)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for number := 1; lines.Scan(); number++ {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, 0, fmt.Errorf("%s:%d: %v", path, number, err)
		}
		call, busy := open[e.Process]
		switch e.Kind {
		case "invoke":
			if busy {
				return nil, 0, fmt.Errorf(
					"%s:%d: process %d calls before its last call has ended",
					path, number, e.Process)
			}
			if err := e.check(); err != nil {
				return nil, 0, fmt.Errorf("%s:%d: %v", path, number, err)
			}
			open[e.Process] = e
		case "ok", "fail", "unknown":
			if !busy || e.Time < call.Time {
				return nil, 0, fmt.Errorf(
					"%s:%d: the end of a call of process %d that was not made",
					path, number, e.Process)
			}
			keep(call, e)
			delete(open, e.Process)
		default:
			return nil, 0, fmt.Errorf("%s:%d: no such event: %q", path, number,
				e.Kind)
		}
	}
	for _, call := range open {
		keep(call, event{Kind: "unknown"})
	}
	sort.SliceStable(operations, func(i, j int) bool {
		return operations[i].Call < operations[j].Call
	})
	return operations, unknown, lines.Err()
}

var readOnly = map[string]bool{"get": true, "read": true}

// Splits by what `name` says, in the order of the first appearance.
func partition(operations []porcupine.Operation,
	name func(event) string) ([]string, map[string][]porcupine.Operation) {
	var names []string
	parts := map[string][]porcupine.Operation{}
	for _, operation := range operations {
		n := name(operation.Input.(event))
		if _, there := parts[n]; !there {
			names = append(names, n)
		}
		parts[n] = append(parts[n], operation)
	}
	return names, parts
}

// The most operations under way at one moment.
func concurrency(operations []porcupine.Operation) int {
	type edge struct {
		time  int64
		delta int
	}
	var edges []edge
	for _, o := range operations {
		edges = append(edges, edge{o.Call, 1}, edge{o.Return, -1})
	}
	sort.Slice(edges, func(i, j int) bool {
		if edges[i].time != edges[j].time {
			return edges[i].time < edges[j].time
		}
		return edges[i].delta > edges[j].delta
	})
	now, most := 0, 0
	for _, e := range edges {
		now += e.delta
		if now > most {
			most = now
		}
	}
	return most
}
