package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// A model of one partition: one register, or one bank with all its accounts.
type workload struct {
	name  func(event) string
	model porcupine.Model
}

var workloads = map[string]workload{
	"registers": {func(e event) string { return e.Key }, registerModel},
	"bank":      {func(e event) string { return e.Bank }, bankModel},
}

// --- A register: absent, or a string with a version.

type register struct {
	present bool
	value   string
	// 0: not told yet. The answer of who wrote it was lost and nobody has read
	// it since, so nobody can have compared with its version either.
	version int64
	last    int64 // the highest version that was told so far
}

func (r register) is(value *string) bool {
	if value == nil {
		return !r.present
	}
	return r.present && r.value == *value
}

var registerModel = porcupine.Model{
	Init: func() interface{} { return register{} },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		return stepRegister(state.(register), input.(event), output.(event))
	},
	DescribeOperation: describe,
}

// The register with what a write has made of it. False: it was told a version
// that is not its own.
func (r register) written(value string, end event) (bool, register) {
	r.present, r.value, r.version = true, value, 0
	if end.Kind != "ok" || end.Version == nil {
		return true, r
	}
	if *end.Version <= r.last {
		return false, r
	}
	r.version, r.last = *end.Version, *end.Version
	return true, r
}

func (r register) read(end event) (bool, register) {
	if !r.is(end.Value) {
		return false, r
	}
	if end.Version == nil || !r.present || *end.Version == r.version {
		return true, r
	}
	if r.version != 0 || *end.Version <= r.last {
		return false, r
	}
	r.version, r.last = *end.Version, *end.Version
	return true, r
}

func stepRegister(r register, call, end event) (bool, register) {
	known := end.Kind == "ok"
	switch call.Op {
	case "get":
		return r.read(end)
	case "put":
		return r.written(*call.Value, end)
	case "delete":
		if known && (end.Found == nil || *end.Found != r.present) {
			return false, r
		}
		return true, register{last: r.last}
	case "cas":
		holds := r.is(call.Expect)
		if call.ExpectVersion != nil {
			holds = r.present && r.version == *call.ExpectVersion
		}
		if known && (end.Done == nil || *end.Done != holds) {
			return false, r
		}
		if holds {
			return r.written(*call.Value, end)
		}
		return true, r
	case "patch":
		if known && (end.Found == nil || *end.Found != r.present) {
			return false, r
		}
		if r.present {
			stop := call.Offset + len(*call.Value)
			if stop > len(r.value) {
				return false, r
			}
			return r.written(
				r.value[:call.Offset]+*call.Value+r.value[stop:], end)
		}
		return true, r
	}
	return false, r
}

// --- A bank: not open, or accounts with balances that transfers move.

const maxAccounts = 8

type accounts struct {
	open     int // accounts; 0 before the bank is open
	balances [maxAccounts]int64
}

var bankModel = porcupine.Model{
	Init: func() interface{} { return accounts{} },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		return stepBank(state.(accounts), input.(event), output.(event))
	},
	DescribeOperation: describe,
}

func stepBank(a accounts, call, end event) (bool, accounts) {
	known := end.Kind == "ok"
	switch call.Op {
	case "open":
		first := a.open == 0
		if known && (end.Done == nil || *end.Done != first) {
			return false, a
		}
		if !first {
			return true, a
		}
		a = accounts{open: len(call.Balances)}
		copy(a.balances[:], call.Balances)
		return true, a
	case "read":
		if len(end.Balances) != a.open {
			return false, a
		}
		for i, balance := range end.Balances {
			if a.balances[i] != balance {
				return false, a
			}
		}
		return true, a
	case "transfer", "move":
		if call.From >= a.open || call.To >= a.open {
			return false, a
		}
		enough := a.balances[call.From] >= call.Amount
		if known && (end.Done == nil || *end.Done != enough) {
			return false, a
		}
		if !enough {
			return true, a
		}
		a.balances[call.From] -= call.Amount
		a.balances[call.To] += call.Amount
		if known && (len(end.Balances) != 2 ||
			end.Balances[0] != a.balances[call.From] ||
			end.Balances[1] != a.balances[call.To]) {
			return false, a
		}
		return true, a
	}
	return false, a
}

func describe(input, output interface{}) string {
	call, end := input.(event), output.(event)
	text := call.Op
	for _, value := range []*string{call.Expect, call.Value} {
		if value != nil {
			text += " " + *value
		}
	}
	if call.ExpectVersion != nil {
		text += fmt.Sprint(" if version ", *call.ExpectVersion)
	}
	switch call.Op {
	case "transfer", "move":
		text += fmt.Sprintf(" %d to %d: %d", call.From, call.To, call.Amount)
	case "open":
		text += fmt.Sprint(" ", call.Balances)
	}
	text += " -> " + end.Kind
	if end.Value != nil {
		text += " " + *end.Value
	}
	if end.Version != nil {
		text += fmt.Sprint(" version ", *end.Version)
	}
	if end.Done != nil {
		text += fmt.Sprint(" ", *end.Done)
	}
	if end.Found != nil {
		text += fmt.Sprint(" found ", *end.Found)
	}
	if end.Balances != nil {
		text += fmt.Sprint(" ", end.Balances)
	}
	return text
}
