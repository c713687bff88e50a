// Plays a transcript: nodes of the chain protocol over a network that delivers
// messages on command, with the nodes' messages and states as text.
//
// A transcript is a text of commands, one a line; lines that begin with two
// spaces are the results of the command before. Lines with # are comments. In
// an operation, x*9000 stands for that many x.
//
//   nodes n1 n2 ...          makes nodes, up, with empty heaps, in no view
//   view 3 n1 n2 [to n1 ..]  the nodes that are up, or those named, learn of
//                            view 3
//   submit n1 a=1 b=2        the head executes and commits an operation
//   append n1 a=1            the same, without its commit record
//   deliver [n1 [n2 [k]]]    delivers messages in flight [from n1 [to n2 [the
//                            first k]]], and those that they lead to
//   drop n1 n2 [k]           loses messages in flight from n1 to n2
//   damage n1                the next chunk that n1 sends arrives damaged
//   break n1 n2              breaks their links
//   cut n1 n2, heal n1 n2    prevents links between them; permits them again
//   tick [ms]                passes time, 25 ms by default, for all nodes up
//   settle                   delivers and ticks until nothing is in flight
//   rounds 40                does so 40 times, where nodes never come to rest
//   tear n2 1                the power fails when n2 has executed one write of
//                            the next operation
//   rot n1                   flips a bit in the newest entry of its ring
//   scrub                    heads that start from now on compare a range (a to
//                            m, n to z) every ten seconds; with "off", as at
//                            first: only unresolved ranges
//   flip n2 a=7              changes bits of an object of its heap
//   diverge n2               n2's next executions differ from the head's
//   lack n2                  n2 lacks the procedure of all operations
//   falter n2 1              n2 cannot execute the next operation as the head
//                            did, and stops after one write of it
//   kill n2                  the power fails; only durable data is left
//   copy n2                  saves its files
//   restart n2 [copy|empty]  starts it again, with its own files, the saved
//                            ones or none
//   invite n4, uninvite n4   the manager wants it to join, or no longer does
//   say n1 n2 7 append 3 a=1 sends a forged message of view 7 on their link
//   show [n1 ...]            prints the nodes' states
//   links n1                 prints its links
#ifndef KAMINO_TESTS_REPLICA_TRANSCRIPT_H_
#define KAMINO_TESTS_REPLICA_TRANSCRIPT_H_

#include <string>

namespace kamino::replica {

// The transcript with the present results of its commands.
std::string PlayTranscript(const std::string& transcript);

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_TRANSCRIPT_H_
