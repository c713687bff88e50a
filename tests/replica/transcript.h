// Plays a transcript: nodes of the chain protocol over a network that delivers
// what it is told to, and what they say and hold as text.
//
// A transcript is a text of commands, one a line; what a line begins with two
// spaces is what came of the command before. Lines with # are comments. In an
// operation, x*9000 stands for so many x.
//
//   nodes n1 n2 ...          new nodes, up, with empty heaps, in no view
//   view 3 n1 n2 [to n1 ..]  those who are up, or those named, learn of view 3
//   submit n1 a=1 b=2        the head executes and commits an operation
//   append n1 a=1            the same, but for its commit mark
//   deliver [n1 [n2 [k]]]    what is on its way [from n1 [to n2 [the first
//   k]]],
//                            and what that leads to
//   drop n1 n2 [k]           what is on its way from n1 to n2 is lost
//   damage n1                the next chunk that n1 sends arrives damaged
//   break n1 n2              their links break
//   cut n1 n2, heal n1 n2    no link comes up between them; does again
//   tick [ms]                time passes, 25 ms unless told, for all who are up
//   settle                   delivers and ticks until nothing is on its way
//   rounds 40                so often, where nodes never come to rest
//   tear n2 1                the power fails when n2 has executed one write of
//                            the next operation
//   rot n1                   a bit flips in the newest entry of its ring
//   scrub                    nodes that start from now on compare a range (a to
//                            m, n to z) every ten seconds, as head; with
//                            "off": only what is in doubt, as else
//   flip n2 a=7              bits of an object of its heap change
//   diverge n2               what n2 executes next is not what the head made
//   falter n2 1              it cannot execute the next operation as the head
//                            did, and stops after one write of it
//   kill n2                  the power fails; only what is durable is left
//   copy n2                  its files are saved
//   restart n2 [copy|empty]  it starts again, on what it had, on the saved
//   files
//                            or on none
//   invite n4, uninvite n4   the manager wants it to join, or not any more
//   say n1 n2 7 append 3 a=1 a forged message of view 7, on their link
//   show [n1 ...]            what nodes are and hold
//   links n1                 its links
#ifndef KAMINO_TESTS_REPLICA_TRANSCRIPT_H_
#define KAMINO_TESTS_REPLICA_TRANSCRIPT_H_

#include <string>

namespace kamino::replica {

// The transcript with what comes of its commands now.
std::string PlayTranscript(const std::string& transcript);

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_TRANSCRIPT_H_
