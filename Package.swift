// swift-tools-version:5.9
// SPDX-License-Identifier: MIT
//
// Hangdog's library for macOS and iOS. The files are those of cmake/Apple.cmake; tests/cli/test_apple_packages.py compares them.
import PackageDescription

// A folder of sources has nothing but sources: SwiftPM compiles each file that is left in it, and refuses a resource there.
let sourceFolders = [
    "adapter", "base", "capture", "cause", "control", "crash", "detect", "image", "loop", "monitor", "os",
    "publish", "record", "report", "script", "turn", "unwind", "watch", "worker",
].map { "src/\($0)" }

let withoutLinux = [
    "src/capture/linux", "src/cause/linux", "src/crash/linux", "src/image/elf", "src/image/linux",
    "src/monitor/linux", "src/os/linux", "src/publish/linux", "src/report/linux", "src/unwind/elf",
    "src/worker/linux", "src/recognise", "src/outside", "src/trace",
]

// SwiftPM warns of files that it has no rule for.
let otherFiles = [
    "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "Hangdog.podspec", "LICENSE",
    "Makefile", "README.md", "agent", "bench", "cli", "cmake", "collector", "docs", "examples", "labels", "namer", "packaging", "preload",
    "python", "scripts", "symbolizer", "tests", "uploader", "web",
    "src/allowed-includes.txt", "src/allowed-symbols-apple.txt", "src/allowed-symbols.txt",
    "src/base/words.def", "src/libhangdog-trace.map", "src/libhangdog.map", "src/private-names-apple.txt",
] + sourceFolders.map { "\($0)/README.md" }

let package = Package(
    name: "Hangdog",
    platforms: [.macOS(.v12), .iOS(.v15)],
    products: [
        .library(name: "Hangdog", targets: ["Hangdog"])
    ],
    targets: [
        .target(
            name: "Hangdog",
            path: ".",
            exclude: withoutLinux + otherFiles,
            sources: sourceFolders,
            resources: [.copy("src/PrivacyInfo.xcprivacy")],
            publicHeadersPath: "include",
            cSettings: [
                .headerSearchPath("src"),
                .headerSearchPath("include"),
                .define("_GNU_SOURCE", to: ""),
            ]
        )
    ],
    cLanguageStandard: .c17
)
