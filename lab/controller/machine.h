// The machine that is modelled, as numbers. Each says where it comes from: a
// section of the paper (WrAP), the simulator that the paper used for its
// memory (DRAMSim2, ini/DDR3_micron_16M_8B_x8_sg15.ini and system.ini), or
// "chosen" where neither tells. lab/docs/wrap_controller.md has them as
// a table.
#ifndef KAMINO_LAB_CONTROLLER_MACHINE_H_
#define KAMINO_LAB_CONTROLLER_MACHINE_H_

#include <cstdint>

namespace kamino::bench::controller {

// Picoseconds from the beginning of a simulation, or between two moments.
using Time = uint64_t;
inline constexpr Time kNanosecond = 1000;
inline constexpr Time kMicrosecond = 1000 * kNanosecond;
inline constexpr Time kSecond = 1000 * 1000 * kMicrosecond;

struct CacheShape {
  uint32_t sets = 1;
  uint32_t ways = 1;
  uint32_t cycles = 1;  // that a hit takes
};

// Timing of Micron's DDR3-1333 as in DRAMSim2, which section 5.2 names (as
// "DDR3-1066 PC3-10600", two speeds at once; PC3-10600 is 1333). Clocks.
struct DeviceTiming {
  Time clock = 1500;                    // picoseconds
  uint32_t activate_to_access = 10;     // tRCD
  uint32_t read_to_data = 10;           // CL
  uint32_t write_to_data = 9;           // CL - 1
  uint32_t burst = 4;                   // BL / 2: a line of 64 bytes
  uint32_t access_to_access = 4;        // tCCD
  uint32_t activate_to_precharge = 24;  // tRAS
  uint32_t precharge = 10;              // tRP
  uint32_t read_to_precharge = 5;       // tRTP
  uint32_t write_recovery = 10;         // tWR
  uint32_t write_to_read = 5;           // tWTR
  uint32_t banks = 16;                  // NUM_RANKS * NUM_BANKS
  uint32_t lines_per_row = 128;         // NUM_COLS * 8 bytes
  uint32_t accesses_per_row = 4;  // before it is closed: TOTAL_ROW_ACCESSES
};

// Where the WrAP controller keeps lines that the cache let go (section 4).
enum class VictimForm {
  kSetAssociative,  // in the controller, with a firmware table for what is over
  kHashed,          // a hash table and a FIFO in DRAM, by firmware
};
// How it knows when a line may go.
enum class ReleaseForm {
  kWatermark,       // the last open number
  kDependenceSets,  // section 3.1
};

struct Machine {
  Time cycle = 357;  // 2.8 GHz, section 5.2

  // Nehalem, section 5.2; sizes and latencies are those that Intel publishes.
  // The last one is shared; the others are each thread's, and say how long a
  // hit takes, no more.
  CacheShape l1{64, 8, 4};      // 32 KiB
  CacheShape l2{512, 8, 10};    // 256 KiB
  CacheShape l3{8192, 16, 40};  // 8 MiB
  // Lines that a core fetches, or pushes out, at a time: Nehalem's line fill
  // buffers, which combine streamed stores as well.
  uint32_t line_buffers = 10;

  // Cost of a call of the library, from OpenWrap to CloseWrap, with any method;
  // chosen. The processor's stores themselves take a cycle each.
  uint32_t call_cycles = 10;
  // From a core to the controller, or back; chosen.
  Time path = 15 * kNanosecond;

  // SCM and log channel against the DRAM's timing; 1 to 8, section 5.2.
  uint32_t scm_slowdown = 4;
  DeviceTiming device;
  // Requests that a channel takes before it makes others wait; chosen.
  // DRAMSim2's system.ini has 8, its system.ini.example 512.
  uint32_t channel_queue = 32;

  // "Up to 128 open wraps", section 5.1: opened and not yet retired.
  uint32_t open_wraps = 128;
  // A log record is {address, value} (section 3); the marker that closes a
  // bucket has a sequence, a length and a hash
  // (lab/docs/wrap_controller.md).
  uint32_t record_bytes = 16;
  uint32_t marker_bytes = 24;
  // Lines of the log that retirement reads ahead (section 5.3: it does; how
  // far is chosen).
  uint32_t read_ahead = 8;
  // Wraps whose values are on the way home at a time. Algorithm 2 retires them
  // one by one.
  uint32_t retired_together = 1;

  VictimForm victims = VictimForm::kSetAssociative;
  ReleaseForm release = ReleaseForm::kWatermark;
  // "Modest", section 4: 256 KiB; chosen. A look-up takes as long as one of
  // the second cache.
  CacheShape victim_cache{512, 8, 10};
};

// Section 5.3, Mixed Workload: "just 2 sets for the L1 and 64 sets for L2/3".
inline Machine WithTinyCaches(Machine machine) {
  machine.l1.sets = 2;
  machine.l2.sets = 64;
  machine.l3.sets = 64;
  return machine;
}

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_MACHINE_H_
