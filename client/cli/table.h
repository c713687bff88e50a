// Formats text in columns for users.
#ifndef KAMINO_CLIENT_CLI_TABLE_H_
#define KAMINO_CLIENT_CLI_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace kamino::client {

// Each column is as wide as its widest cell, with two spaces between columns;
// the first row is the head. Rows may have different lengths.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows);

// A line for a node whose result for the mutation `disputed` diverges from the
// head's; "" if `disputed` is 0.
std::string DivergenceOf(const std::string& node_id, uint64_t disputed);

// "1.5 MiB"
std::string FormatBytes(uint64_t bytes);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_TABLE_H_
