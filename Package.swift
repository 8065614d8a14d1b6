// swift-tools-version:5.9
// SPDX-License-Identifier: MIT
//
// Hangdog's library for macOS and iOS. The files are those of cmake/Apple.cmake; tests/cli/test_apple_packages.py compares them.
import PackageDescription

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
            exclude: [
                "src/capture/linux",
                "src/cause/linux",
                "src/crash/linux",
                "src/image/elf",
                "src/image/linux",
                "src/monitor/linux",
                "src/os/linux",
                "src/publish/linux",
                "src/recognise",
                "src/report/linux",
                "src/trace",
                "src/unwind/elf",
                "src/worker/linux",
            ],
            sources: ["src"],
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
