# SPDX-License-Identifier: MIT
#
# Hangdog's library for macOS and iOS, by CocoaPods. The files are those of cmake/Apple.cmake.
Pod::Spec.new do |s|
  s.name = 'Hangdog'
  s.version = File.read(File.join(__dir__, 'include/hangdog/hangdog.h'))[/HANGDOG_VERSION "([^"]+)"/, 1]
  s.summary = 'A watchdog for hangs'
  s.description = 'Watches the event loops of a program, and says which code hung them, for how long, and why.'
  s.homepage = 'https://hangdog.example.org'
  s.license = { type: 'MIT', file: 'LICENSE' }
  s.author = 'The authors of Hangdog'
  s.source = { git: 'https://hangdog.example.org/hangdog.git', tag: s.version.to_s }
  s.osx.deployment_target = '12.0'
  s.ios.deployment_target = '15.0'
  s.source_files = 'src/**/*.{c,h}', 'include/hangdog/{hangdog,apple,cfrunloop,main_queue}.h'
  s.preserve_paths = 'src/base/words.def' # a header includes it; Xcode knows no such file
  s.exclude_files = 'src/*/linux/**/*', 'src/*/elf/**/*', 'src/recognise/**/*', 'src/outside/**/*', 'src/trace/**/*'
  s.public_header_files = 'include/hangdog/{hangdog,apple,cfrunloop,main_queue}.h'
  s.header_mappings_dir = 'include'
  s.resource_bundles = { 'Hangdog' => ['src/PrivacyInfo.xcprivacy'] }
  s.pod_target_xcconfig = {
    'HEADER_SEARCH_PATHS' => '"$(PODS_TARGET_SRCROOT)/src" "$(PODS_TARGET_SRCROOT)/include"',
    'GCC_C_LANGUAGE_STANDARD' => 'c17',
    'GCC_PREPROCESSOR_DEFINITIONS' => '$(inherited) _GNU_SOURCE=',
    'USE_HEADERMAP' => 'NO' # rooms have headers of equal names
  }
end
