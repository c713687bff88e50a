module kamino/tests/chaos/checker_go

go 1.19

require github.com/anishathalye/porcupine v1.3.1
