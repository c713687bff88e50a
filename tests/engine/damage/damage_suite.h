// Which schemes a program's damage tests damage.
#ifndef KAMINO_TESTS_ENGINE_DAMAGE_DAMAGE_SUITE_H_
#define KAMINO_TESTS_ENGINE_DAMAGE_DAMAGE_SUITE_H_

#include <string>
#include <vector>

namespace kamino::engine::damage {

// Each program defines it. Names of tests/engine/crash/rig.h.
std::vector<std::string> SchemesToDamage();

}  // namespace kamino::engine::damage

#endif  // KAMINO_TESTS_ENGINE_DAMAGE_DAMAGE_SUITE_H_
