// Bad cases are refused before anything runs: with the line, what is wrong, what is allowed, and the nearest name.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "io/case/case.hpp"
#include "solvers/equations/print.hpp"

namespace hindsight {
namespace {

/// A good case; tests replace one line of it.
const std::vector<std::string> good = {
    /* 1 */ "case: good",
    /* 2 */ "grid: {x: {cells: 16, to: 1, boundary: {value: 0}}, y: {cells: 16, to: 1}}",
    /* 3 */ "parameters: {D: 0.1, k: 0.5, kappa: {field: \"1 + x\"}}",
    /* 4 */ "state: {u: {initial: \"sin(pi*x)\"}, v: {initial: 0}}",
    /* 5 */ "functions: {\"f(a, b)\": \"a*b^2\"}",
    /* 6 */ "equations: {dt(u): \"D*lap(u) - k*u\", dt(v): \"div(kappa*grad(v)) + f(u, v)\"}",
    /* 7 */ "time: {method: rk4, step: 0.001, to: 1}",
    /* 8 */ "objective: [{final: \"u^2\"}, {penalty: \"kappa^2\"}]",
    /* 9 */ "unknowns: {D: {scale: log}, kappa: {}, initial(u): {}}",
    /* 10 */ "checkpoints: {schedule: auto, host: 1 GiB}",
    /* 11 */ "inversion: {iterations: 10}",
    /* 12 */ "output: {every: 0.1, fields: [u]}",
};

struct Bad {
  int line;                ///< replaced, 1-based
  std::string text;        ///< in its place
  std::string message;     ///< expected in the error
  bool elsewhere = false;  ///< the error's place is not this line (a data file, another line, the whole case)
};

std::string folder() {
  static const std::string path = [] {
    const std::string p = testing::TempDir() + "bad-cases";
    std::filesystem::create_directories(p);
    const auto write = [&](const std::string& name, const std::string& text) { std::ofstream(p + "/" + name) << text; };
    write("good.csv", "time,x,y,value\n0.5,0.5,0.5,1\n");
    write("missing.csv", "time,x,value\n0.5,0.5,1\n");
    write("nan.csv", "time,x,y,value\n0.5,0.5,0.5,1\n0.6,0.5,0.5,nan\n");
    write("text.csv", "time,x,y,value\n0.5,0.5,0.5,high\n");
    write("ragged.csv", "time,x,y,value\n0.5,0.5,0.5\n");
    write("empty.csv", "time,x,y,value\n");
    write("nothing.csv", "");
    write("late.csv", "time,x,y,value\n1.5,0.5,0.5,1\n");
    write("outside.csv", "time,x,y,value\n0.5,1.5,0.5,1\n");
    write("negative.csv", "time,x,y,value\n0.5,0.5,0.5,-1\n");
    write("twice.csv", "# two columns of one name\ntime,x,y,value,value\n0.5,0.5,0.5,1,2\n");
    write("latin.csv", "time,x,y,value\n# Z\xfcrich\n0.5,0.5,0.5,1\n");
    write("long.csv", "time,x,y,value\n" + std::string((1U << 20U) + 1, ' '));
    mkfifo((p + "/pipe.csv").c_str(), 0600);
    std::filesystem::create_directories(p + "/folder.csv");
    return p;
  }();
  return path;
}

std::string misfit(const std::string& file, const std::string& more = "") {
  return "objective: [{misfit: {of: u, data: " + file + more + "}}]";
}

std::vector<Bad> bad_cases() {
  return {
      {1, "cas: good", "missing key 'case'"},
      {1, "case: good\ncase: again", "duplicate key 'case'", true},
      {1, "case: \"\"", "bad.yaml:1:7: case: '' cannot name the folder of its runs, for it is empty"},
      {1, "case: ../../x", "'../../x' cannot name the folder of its runs, for it has a '/'"},
      {1, "case: /tmp/x", "for it has a '/'; allowed: 1 to 255 bytes, no '/'"},
      {1, "case: .", "for it begins with '.' or '-'"},
      {1, "case: ..", "for it begins with '.' or '-'"},
      {1, "case: .hidden", "for it begins with '.' or '-'"},
      {1, "case: -x", "for it begins with '.' or '-'"},
      {1, "case: \"a\\nb\"", "'a' cannot name the folder of its runs, for it has a control character"},
      {1, "case: \"a\\x85b\"", "for it has a control character"},
      {1, "case: " + std::string(256, 'a'), "for it is too long"},
      {2, "gird: {x: {cells: 16}}", "unknown key 'gird'; did you mean 'grid'?"},
      {2, "grid: {x: {cells: -4, to: 1}}", "cells must be from 1"},
      {2, "grid: {x: {cells: 0, to: 1}}", "cells must be from 1"},
      {2, "grid: {x: {cells: many, to: 1}}", "must be a number"},
      {2, "grid: {x: {cells: 2.5, to: 1}}", "whole number"},
      {2, "grid: {x: {to: 1}}", "missing key 'cells' in grid.x"},
      {2, "grid: {y: {cells: 4}}", "needs the axes before it"},
      {2, "grid: {x: {cells: 4, from: 2, to: 1}}", "to must exceed from"},
      {2, "grid: {x: {cells: 4, boundary: periodc}}", "did you mean 'periodic'?"},
      {2, "grid: {x: {cells: 4, boundary: {value: 0, slope: 0}}}", "either value or slope"},
      {2, "grid: {x: {cells: 4, boundary: {lower: {value: 0}}}}", "needs both lower and upper"},
      {2, "grid: {x: {cells: 4, boundary: {value: 0, fields: {w: {value: 1}}}}}", "'w' is not a state"},
      {2, "grid: {x: {cells: 16, boundary: {value: \"u\"}}, y: {cells: 16}}", "unknown name 'u'"},
      {2, "grid: {x: {cells: 16, boundary: {value: \"noise(1, 0)\"}}, y: {cells: 16}}", "noise cannot be used here"},
      {2, "grid: {x: {cells: 16}, order: 3}", "allowed: 2, 4, 6, 8"},
      {2, "grid: {x: {cells: 16}, y: {cells: 16}, order: 4, means: harmonic}", "second order", true},
      {3, "parameters: {D: 0.1, D: 0.2, k: 0.5, kappa: {field: 1}}", "duplicate key 'D'"},
      {3, "parameters: {D: large, k: 0.5, kappa: {field: 1}}", "must be a number"},
      {3, "parameters: {D: 0.1, k: 0.5, kappa: {feld: \"1\"}}", "did you mean 'field'?"},
      {3, "parameters: {D: 0.1, k: 0.5, sin: 1, kappa: {field: 1}}", "'sin' has a meaning of its own"},
      {3, "parameters: {D: 0.1, k: 0.5, noise: 1, kappa: {field: 1}}", "'noise' has a meaning of its own"},
      {3, "parameters: {D: 0.1, k: 0.5, u: 1, kappa: {field: 1}}", "already the name of a parameter", true},
      {3, "parameters: {D: 0.1, k: 0.5, kappa: {field: \"1 + D\"}}", "unknown name 'D'"},
      {3, "parameters: {D: 0.1, k: 0.5, kappa: {file: nowhere.h5, dataset: k}}", "cannot read"},
      {3, "parameters: {D: 0.1, k: {series: {times: [1, 0], values: [1, 2]}}, kappa: {field: 1}}", "must increase"},
      {4, "state: {u: {intial: 0}, v: {initial: 0}}", "missing key 'initial' in state.u"},
      {4, "state: {u: {initial: 0, more: 1}, v: {initial: 0}}", "unknown key 'more' in state.u"},
      {4, "state: {u: {initial: \"sin(pi*x\"}, v: {initial: 0}}", "expected ')'"},
      {4, "state: {u: {initial: \"lap(v)\"}, v: {initial: 0}}", "cannot be used here"},
      {4, "state: {u: {initial: 0}, v: {initial: 0}, w: {initial: 0}}", "has no equation dt(w)"},
      {5, "functions: {\"f(a, b)\": \"f(a, b)\"}", "calls itself"},
      {5, "functions: {\"f(a)\": \"a\"}", "f takes 1 argument, not 2", true},
      {6, "equations: {dt(u): \"D*lap(u) - kk*u\", dt(v): 0}", "unknown name 'kk'; did you mean 'k'?"},
      {6, "equations: {dt(u): \"D*lpa(u)\", dt(v): 0}", "unknown function 'lpa'; did you mean 'lap'?"},
      {6, "equations: {dt(u): \"D*(lap(u)\", dt(v): 0}", "expected ')'"},
      {6, "equations: {dt(u): \"D*dz(u)\", dt(v): 0}", "no axis 'z'"},
      {6, "equations: {dt(u): \"2u\", dt(v): 0}", "malformed number"},
      {6, "equations: {dt(u): \"\", dt(v): 0}", "an expression is missing"},
      {6, "equations: {dt(u): \"div(u)\", dt(v): 0}", "must contain grad"},
      {6, "equations: {dt(u): \"max(u)\", dt(v): 0}", "max takes 2 arguments, not 1"},
      {6, "equations: {dt(u): \"k + noise(1)\", dt(v): 0}", ":6:25: noise takes 2 arguments, not 1"},
      {6, "equations: {dt(u): \"k + noise(k, 0)\", dt(v): 0}", ":6:31: the seed must be an integer constant"},
      {6, "equations: {du: 0, dt(v): 0}", "an equation is written dt(field)"},
      {6, "equations: {dt(w): 0, dt(v): 0}", "'w' is not a state"},
      {6, "equations: {dt(u): 0, zero(v): \"lap(u)\"}", "zero(v) must depend on 'v'"},
      {6, "equations: {dt(u): {mass: 0, rhs: u}, dt(v): 0}",
       ":6:27: the mass of dt(u) is 0: equations are divided by it; what has no derivative in time is a constraint"},
      {6, "equations: {dt(u): {mass: \"D - 0.1\", rhs: u}, dt(v): 0}", "the mass of dt(u) is 0"},
      {6, "equations: {dt(u): {mass: 1/0, rhs: u}, dt(v): 0}", "the mass of dt(u) is inf: equations are divided by it"},
      {7, "time: {method: rk5, step: 0.001, to: 1}", "did you mean 'rk4'?"},
      {7, "time: {step: 2, to: 1}", "overshoots the end"},
      {7, "time: {step: -1, to: 1}", "must be positive"},
      {7, "time: {step: .nan, to: 1}", "not a number"},
      {7, "time: {step: 0.1, from: 2, to: 1}", "must be later than"},
      {7, "time: {step: 0.1}", "missing key 'to' in time"},
      {7, "time: {times: late.csv, to: 1}", "none of its times, from 1.5 to 1.5, lies in the run, from 0 to 1"},
      {7, "time: {times: good.csv, to: 5}", "would be longer than all others: 4.5"},
      {7, "time: {times: good.csv, step: 0.1, to: 1}", "the steps are those of the table"},
      {7, "time: {times: good.csv, until: \"norm(u) < 1\", at most: 5, to: 1}", "has as many steps as it has"},
      {7, "time: {method: dopri5, tolerance: 1e-6, step: 0.1, most: 0.01, to: 1}", "longer than time.most allows"},
      {7, "time: {method: dopri5, tolerance: 1e-6, step: 0.1, least: 0.5, to: 1}", "shorter than time.least allows"},
      {8, "objective: [{fnal: u}]", "did you mean 'final'?"},
      {8, "objective: [{final: u, integral: u}]", "one of final, integral, misfit, penalty"},
      {8, "objective: [{penalty: \"u\"}]", "unknown name 'u'"},
      {8, "objective: [{penalty: \"noise(1, 0)*kappa\"}]", "noise cannot be used here"},
      {8, "objective: [{misfit: {of: \"u + noise(1, 0)\", data: good.csv}}]", "noise cannot be used here"},
      {8, "objective: [{penalty: \"t*kappa\"}]", "unknown name 't'"},
      {5, "functions: {\"f(a)b)\": \"a\"}", "more than one pair of parentheses"},
      {5, "functions: {\"f(a, a)\": \"a\"}", "appears twice"},
      {5, "functions: {\"f(a, pi)\": \"a\"}", "'pi' is a number"},
      {9, "unknowns: {D: {scale: log, bounds: [-.inf, -1]}}", "bounds"},
      {3, "parameters: {D: 0.1, k: {series: {times: [0, 1], values: [1, 2]}, time: t}, kappa: {field: \"1 + x\"}}",
       "names a column"},
      {7, "time: {step: 0.001, until: \"u < 1\", at most: 10}", "is not of the form"},
      {7, "time: {step: 0.001, until: \"norm(u) < 1\"}", "at most"},
      {10, "checkpoints: {schedule: revolv}", "did you mean 'revolve'"},
      {10, "checkpoints: {schedule: periodic, period: 0}", "at least 1"},
      {8, "objective: {final: u}", "must be a list"},
      {8, misfit("nowhere.csv"), "cannot read", true},
      {8, misfit("missing.csv"), "no column 'y'", true},
      {8, misfit("nan.csv"), "nan.csv:3: column 'value': 'nan' is not a finite number", true},
      {8, misfit("text.csv"), "'high' is not a finite number", true},
      {8, misfit("ragged.csv"), "ragged.csv:2: this row has 3 entries, the header has 4", true},
      {8, misfit("empty.csv"), "no observations"},
      {8, misfit("nothing.csv"), "an empty table", true},
      {8, misfit("late.csv"), "late.csv:2: the observation's time lies outside the run", true},
      {8, misfit("outside.csv"), "outside.csv:2: the observation's x lies outside the grid", true},
      {8, misfit("negative.csv", ", log: true"), "needs positive observations", true},
      {8, misfit("good.csv", ", noise: 0"), "noise must be positive"},
      {8, misfit("good.csv", ", log: maybe"), "must be true or false"},
      {9, "unknowns: {DD: {}}", "did you mean 'D'?"},
      {9, "unknowns: {initial(w): {}}", "neither a parameter nor initial(state)"},
      {9, "unknowns: {D: {bounds: [1, 0]}}", "lower bound must be below"},
      {9, "unknowns: {D: {bounds: [1, 2]}}", "outside its bounds"},
      {9, "unknowns: {D: {scale: log, bounds: [-1, 2]}}", "needs positive bounds"},
      {9, "unknowns: {D: {prior: {mean: 0, sd: 0}}}", "sd must be positive"},
      {9, "unknowns: {D: {scale: cubic}}", "allowed: linear, log"},
      {9, "unknowns: {D: {where: \"y > 0.5\"}}",
       "bad.yaml:9:24: where: 'D' is a number; where tells cells of an unknown"},
      {9, "unknowns: {kappa: {where: \"y > q\"}}", ":9:32: unknown name 'q'"},
      {9, "unknowns: {kappa: {where: \"u > 0\"}}", ":9:28: unknown name 'u'"},
      {9, "unknowns: {kappa: {where: \"y > 0.5 and kappa > 1\"}}", "'kappa' cannot tell where it is unknown itself"},
      {9, "unknowns: {initial(u): {where: \"lap(kappa) > 1\"}}", "lap cannot be used here"},
      {9, "unknowns: {kappa: {were: \"y > 0.5\"}}", "unknown key 'were' in unknowns.kappa; did you mean 'where'?"},
      {10, "checkpoints: {host: 1 Gib}", "is no size"},
      {10, "checkpoints: {host: 1.5 slots}", "whole number of slots"},
      {10, "checkpoints: {schedule: revolv}", "did you mean 'revolve'?"},
      {10, "checkpoints: {host: {codec: zstd}}", "missing key 'size' in checkpoints.host"},
      {10, "checkpoints: {host: {size: 1 GiB, queue: 2}}", "unknown key 'queue'"},
      {10, "checkpoints: {host: {size: 1 GiB, codec: ztsd}}", "did you mean 'zstd'?"},
      {10, "checkpoints: {host: {size: 1 GiB, codec: zip}}",
       "allowed: none, float32, bfloat16, lz4, zstd, quantised, zfp"},
      {10, "checkpoints: {host: {size: 1 GiB, tolerance: 1e-3}}",
       "checkpoints.host.tolerance needs codec: quantised or zfp; the codec is none"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: zfp}}", "codec zfp needs tolerance or accept"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: quantised}}", "codec quantised needs tolerance or accept"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: zfp, tolerance: 0}}", "must be positive and below 1"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: zfp, tolerance: 1}}", "must be positive and below 1"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: float32, tolerance: 1e-3}}",
       "checkpoints.disk.tolerance needs codec: quantised or zfp; the codec is float32"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: zstd, accept: 1e-3}}",
       "checkpoints.disk.accept needs codec: float32, bfloat16, quantised or zfp; the codec is zstd"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: float32, accept: -1e-3}}",
       "checkpoints.disk.accept must be positive"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: zfp, tolerance: 1e-3, then: zstd}}",
       "checkpoints.disk.then needs codec: float32, bfloat16 or quantised; the codec is zfp"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: float32, then: zip}}", "allowed: lz4, zstd"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: none, difference: neighbour}}",
       "checkpoints.disk.difference needs codec: float32, bfloat16, lz4, zstd, quantised or zfp; the codec is none"},
      {10, "checkpoints: {host: {size: 1 GiB, difference: neighbour}}", "the codec is none"},
      {10, "checkpoints: {host: {size: 1 GiB, codec: zstd, difference: neighbor}}", "did you mean 'neighbour'?"},
      {10, "checkpoints: {host: {size: 1 GiB, codec: zstd, diference: neighbour}}", "difference"},
      {10, "checkpoints: {disk: {size: 1 GiB, codec: bfloat16, difference: neighbour}}",
       "checkpoints.disk.difference needs then: lz4 or zstd"},
      {11, "inversion: {iterations: 0}", "at least 1"},
      {11, "inversion: {iterations: 4294967296}", "at most 2147483647"},
      {11, "inversion: {stages: []}", "bad.yaml:11:21: inversion.stages: a list of one stage at least"},
      {11, "inversion: {stages: {iterations: 2}}", "inversion.stages must be a list"},
      {11, "inversion: {stages: [{iterations: 0}]}",
       "bad.yaml:11:35: inversion.stages.0.iterations must be at least 1"},
      {11, "inversion: {stages: [{}, {relative: -1}]}", "inversion.stages.1.relative cannot be negative"},
      {11, "inversion: {stages: [{method: lbfgs}]}", "unknown key 'method' in inversion.stages.0"},
      {11, "inversion: {stages: [{unknowns: [kapa]}]}", "did you mean 'kappa'?; allowed: D, kappa, initial(u)"},
      {11, "inversion: {stages: [{unknowns: [D, D]}]}", "inversion.stages.0.unknowns: 'D' stands twice"},
      {11, "inversion: {stages: [{shots: [a]}]}", "bad.yaml:11:30: inversion.stages.0.shots: the case has no shots"},
      {5, "functions: {\"f(sin)\": \"1\"}", "'sin' has a meaning of its own"},
      {5, "functions: {\"f(or)\": \"1\"}", "'or' has a meaning of its own"},
      {5, "functions: {\"f(dx)\": \"1\"}", "'dx' has a meaning of its own"},
      {5, "functions: {\"f(g)\": \"g\", \"g(a)\": \"a\"}", "'g' is a function and cannot be an argument of f"},
      {8, "objective: [{misfit: {of: dx(u), data: " + folder() + "/good.csv}}]", "only values at the point itself"},
      {12, "output: {every: 0}", "must be positive"},
      {12, "output: {fields: [w]}", "allowed: u, v"},
      {12, "output: {estimates: 0}", "bad.yaml:12:21: output.estimates must be at least 1 iteration"},
      {12, "output: {estimates: often}", "output.estimates must be a number"},
      {12, "output: {estimate: 5}", "did you mean 'estimates'?"},
      {12, "output: [", "not valid YAML", true},
      // What is no text, no file, or no single document.
      {1, "case: caf\xe9", ":1:10: the byte 0xe9 is not UTF-8"},
      {1, "case: \xff\xfeg", "not UTF-8"},
      {2, "grid:\n\tx: {cells: 16}", "bad.yaml:3:1: a tab stands where YAML wants spaces", true},
      {2, "grid:\n  x:\n  \t cells: 16", "bad.yaml:4:3: a tab stands where YAML wants spaces", true},
      {12, "output: {every: 0.1}\n---\ncase: again", "bad.yaml:13: a second YAML document begins here", true},
      {12, "...\n# the end\ncase: again", "bad.yaml:14: a second YAML document begins here", true},
      {8, misfit("twice.csv"), "twice.csv:2: the column 'value' stands twice", true},
      {8, misfit("latin.csv"), "latin.csv:2:4: the byte 0xfc is not UTF-8", true},
      {8, misfit("long.csv"), "long.csv:2: this line is longer than 1 MiB", true},
      {8, misfit("folder.csv"), "folder.csv' is a folder, not a table", true},
      {8, misfit("pipe.csv"), "pipe.csv' is not a regular file", true},
      {8, misfit("/dev/zero"), "'/dev/zero' is not a regular file", true},
      {3, "parameters: {D: 0.1, k: {series: /dev/zero}, kappa: {field: 1}}", "'/dev/zero' is not a regular file", true},
      {3, "parameters: {D: 0.1, k: 0.5, kappa: {file: pipe.csv, dataset: k}}", "pipe.csv' is not a regular file"},
      {3, "parameters: {D: 0.1, k: 0.5, kappa: {file: folder.csv, dataset: k}}", "is a folder, not an HDF5 file"},
      // Near misses of required keys, and other ways to write a derivative.
      {6, "equatons: {dt(u): 0, dt(v): 0}", "missing key 'equations'; is it meant by 'equatons'?"},
      {2, "grid: {x: {cell: 16}}", "missing key 'cells' in grid.x; is it meant by 'cell'?"},
      {7, "time: {setp: 0.001, to: 1}", "missing key 'step' in time; is it meant by 'setp'?"},
      {6, "equations: {d(u)/dt: 0, dt(v): 0}", "not 'd(u)/dt'; did you mean 'dt(u)'?"},
      {6, "equations: {du/dt: 0, dt(v): 0}", "not 'du/dt'; did you mean 'dt(u)'?"},
      {6, "equations: {dt(u): 0, v': 0}", "not 'v''; did you mean 'dt(v)'?"},
      // Names that mean something.
      {3, "parameters: {D: 0.1, x: 0.5, kappa: {field: 1}}", "'x' is the coordinate of the grid's axis x"},
      {4, "state: {u: {initial: 0}, y: {initial: 0}}", "'y' is the coordinate of the grid's axis y"},
      {4, "state: {t: {initial: 0}, v: {initial: 0}}", "'t' is the time in every case"},
      {4, "state: {u: {initial: 0}, steps: {initial: 0}}", "fields.h5 keeps the outputs' steps"},
      {5, "functions: {f: \"1\"}", "or name() without arguments, not 'f'"},
      {5, "functions: {\"f()\": \"g()\", \"g()\": \"f()\"}", "f takes 0 arguments, not 2", true},
      {4, "state: {u: {initial: step}, v: {initial: 0}}", "unknown name 'step'"},
      {6, "equations: {dt(u): \"u/hz\", dt(v): 0}", "unknown name 'hz'"},
      // Numbers that are none.
      {7, "time: {step: 1/0, to: 1}", "time.step must be finite"},
      {7, "time: {step: sqrt(-1), to: 1}", "time.step is not a number"},
      {7, "time: {step: 1/, to: 1}", "time.step must be a number, not '1/'"},
      {7, "time: {step: D/2, to: 1}", "time.step must be a number, not 'D/2': unknown name 'D'; known here: pi"},
      {7, "time: {step: 0.001, until: \"norm(u) < 1/0\", at most: 10}", "is not of the form"},
      {2, "grid: {x: {cells: 31/2, to: 1}}", "grid.x.cells must be a whole number"},
      {10, "checkpoints: {host: pi}", "is no size"},
      {10, "checkpoints: {host: 7/2 slots}", "whole number of slots"},
      {12, "output: " + std::string(100, '['), "nested too deeply"},
  };
}

std::string text_with(const Bad& bad) {
  std::string text;
  for (std::size_t i = 0; i < good.size(); ++i)
    text += (static_cast<int>(i) + 1 == bad.line ? bad.text : good[i]) + "\n";
  return text;
}

TEST(BadCases, TheGoodOneIsGood) {
  EXPECT_NO_THROW(read_problem(parse_case("good.yaml", text_with({0, "", ""}), {})));
}

TEST(BadCases, GoodCodecsAreGood) {
  const auto read = [](const std::string& checkpoints) {
    return parse_case("good.yaml", text_with({10, "checkpoints: {" + checkpoints + "}", ""}), {}).checkpoints;
  };
  const CheckpointOptions both =
      read("host: {size: 1 GiB, codec: zstd}, disk: {size: 2 GiB, directory: scratch, codec: zfp, tolerance: 1e-6}");
  EXPECT_EQ(both.host->amount, std::int64_t{1} << 30);
  EXPECT_EQ(both.host_codec.kind, "zstd");
  EXPECT_EQ(both.disk_codec.kind, "zfp");
  EXPECT_EQ(both.disk_codec.tolerance, 1e-6);
  EXPECT_FALSE(both.disk_codec.accept);
  EXPECT_EQ(*read("disk: {size: 1 GiB, codec: zfp, accept: 1e-5}").disk_codec.accept, 1e-5);
  EXPECT_EQ(read("host: {size: 1 GiB, codec: bfloat16, then: lz4}").host_codec.then, "lz4");
  EXPECT_EQ(read("host: {size: 1 GiB}, disk: 1 GiB").host_codec.kind, "none");
  EXPECT_TRUE(read("disk: {size: 1 GiB, codec: zstd, difference: neighbour}").disk_codec.difference);
  EXPECT_FALSE(read("disk: {size: 1 GiB, codec: zstd, difference: none}").disk_codec.difference);
  EXPECT_FALSE(read("disk: {size: 1 GiB, codec: zstd}").disk_codec.difference);
}

TEST(BadCases, AreRefusedWithTheirLine) {
  EXPECT_GE(bad_cases().size(), 40U);
  for (const Bad& bad : bad_cases()) {
    SCOPED_TRACE(bad.text);
    try {
      read_problem(parse_case(folder() + "/bad.yaml", text_with(bad), {}));
      ADD_FAILURE() << "accepted";
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(bad.message), std::string::npos) << message;
      const bool is_here = message.find("bad.yaml:" + std::to_string(bad.line) + ":") != std::string::npos;
      EXPECT_EQ(is_here, !bad.elsewhere) << message;
      EXPECT_EQ(error.code(), ExitCode::bad_input);
    }
  }
}

TEST(BadCases, ColumnsPointAtTheName) {
  try {
    read_problem(parse_case("bad.yaml", text_with({6, "equations: {dt(u): \"D*lap(u) - kk*u\", dt(v): 0}", ""}), {}));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, 14), "bad.yaml:6:32:") << error.what();
  }
}

TEST(BadCases, Overrides) {
  const std::string text = text_with({0, "", ""});
  const auto message = [&](const std::string& set) -> std::string {
    try {
      read_problem(parse_case("good.yaml", text, {set}));
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message("time.step=0.0005"), "");
  EXPECT_EQ(message("objective.0.final=v^2"), "");
  EXPECT_EQ(message("parameters.D.value=0.2"), "");
  EXPECT_NE(message("time.stp=1").find("--set time.stp=1: unknown key 'stp'"), std::string::npos)
      << message("time.stp=1");
  EXPECT_NE(message("time.stp=1").find("did you mean 'step'?"), std::string::npos);
  EXPECT_NE(message("time={method: dopri5, tolerance: 1e-3, to: 1, stpe: 1}").find("did you mean 'step'?"),
            std::string::npos)
      << message("time={method: dopri5, tolerance: 1e-3, to: 1, stpe: 1}");
  for (const char* set :
       {"case=../x", "time.step=-1", "equations.dt(u)=kk*u", "objective.0.final=w", "parameters.D=high"})
    EXPECT_EQ(message(set).find(std::string("--set ") + set + ": "), 0U) << message(set);
  EXPECT_NE(message("time.step").find("key=value"), std::string::npos);
  EXPECT_NE(message("objective.7.final=u").find("not an index"), std::string::npos);
}

TEST(BadCases, NamesOfCasesMayHaveAnyLetters) {
  for (const char* name : {"Wärmeleitung", "волны", "热", "a case, 2nd", "v1.2", "..."})
    EXPECT_EQ(parse_case("good.yaml", text_with({0, "", ""}), {std::string("case=x") + name}).name,
              std::string("x") + name);
}

TEST(BadCases, SingleLettersGetNoHint) {
  try {
    read_problem(parse_case("bad.yaml", text_with({6, "equations: {dt(u): \"w*u\", dt(v): 0}", ""}), {}));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find("did you mean"), std::string::npos) << error.what();
  }
}

/// Arguments shadow the coordinates and the time.
TEST(BadCases, ArgumentsMayBeNamedLikeCoordinates) {
  const std::string text = text_with({5, "functions: {\"f(t, x)\": \"t - x\"}", ""});
  const auto assembled = [&](const std::string& right) {
    return read_problem(parse_case("good.yaml", text, {"equations.dt(u)=" + right})).model;
  };
  const Model by_function = assembled("f(u, v)");
  EXPECT_EQ(to_text(by_function.right_hand_sides[0]), to_text(assembled("u - v").right_hand_sides[0]));
}

TEST(BadCases, ConditionsTellCellsOfFields) {
  const auto message = [](const std::string& unknown) -> std::string {
    const std::string ode =
        "case: ode\nparameters: {k: {series: {times: [0, 1], values: [1, 2]}}}\nstate: {u: {initial: 1}}\n"
        "equations: {dt(u): k}\ntime: {step: 0.1, to: 1}\nobjective: [final: u]\nunknowns: {";
    try {
      read_problem(parse_case("ode.yaml", ode + unknown + ": {where: \"1 > 0\"}}\n", {}));
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message("k").find("ode.yaml:7:24: where: 'k' is a series; where tells cells of an unknown field on a grid"),
            0);
  EXPECT_EQ(message("initial(u)").find("ode.yaml:7:33: where: 'initial(u)' is a number"), 0);
}

/// Six steps of 0.1 are 0.6000000000000001.
TEST(BadCases, ObservationsMayPassTheEndsByTheirRoundingAlone) {
  const auto read = [](const std::string& rows) {
    std::ofstream(folder() + "/rounded.csv") << "time,u\n" + rows;
    return parse_case(folder() + "/ode.yaml",
                      "case: ode\nstate: {u: {initial: 1}}\nequations: {dt(u): \"-u\"}\n"
                      "time: {step: 0.1, from: -0.3, to: 0.6}\n"
                      "objective: [{misfit: {of: u, data: rounded.csv, window: {to: 0.6000000000000001}}}]\n",
                      {});
  };
  const Case rounded = read("0.6000000000000001,1\n0.6,2\n-0.30000000000000004,3\n");
  const std::vector<PointObservation>& all = rounded.objective.at(0).observations;
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].time, -0.3);
  EXPECT_EQ(all[1].time, 0.6);
  EXPECT_EQ(all[1].value, 1.0);
  EXPECT_EQ(all[2].value, 2.0);
  EXPECT_THROW(read("0.600000002,1\n"), InputError);
  EXPECT_THROW(read("-0.300000002,1\n"), InputError);
}

TEST(BadCases, OdesHaveNoSpace) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      read_problem(parse_case("ode.yaml", text, {}));
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const std::string rest = "\ntime: {step: 0.1, to: 1}\n";
  EXPECT_NE(message("case: ode\nstate: {u: {initial: 1}}\nequations: {dt(u): \"dx(u)\"}" + rest).find("needs a grid"),
            std::string::npos);
  EXPECT_NE(message("case: ode\nparameters: {k: {field: 1}}\nstate: {u: {initial: 1}}\nequations: {dt(u): k}" + rest)
                .find("has no grid"),
            std::string::npos);
  EXPECT_NE(message("case: ode\nparameters: {k: 1}\nstate: {u: {initial: 1}}\nequations: {dt(u): k}" + rest +
                    "unknowns: {k: {}}\n")
                .find("need an objective"),
            std::string::npos);
  EXPECT_NE(message("case: ode\nstate: {u: {initial: 1}}\nequations: {dt(u): 1}" + rest + "inversion: {}\n")
                .find("needs unknowns"),
            std::string::npos);
}

}  // namespace
}  // namespace hindsight
