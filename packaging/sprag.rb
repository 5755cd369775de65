# A Homebrew formula, for a tap of your own: `brew install OWNER/tap/sprag`.
# Replace OWNER/NAME and the digest; `shasum -a 256` of the tag's source archive prints it.
class Sprag < Formula
  desc "Runs benchmarks, records them in git, and finds regressions"
  homepage "https://github.com/OWNER/NAME"
  url "https://github.com/OWNER/NAME/archive/refs/tags/v0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  uses_from_macos "zlib"

  def install
    system "cargo", "install", *std_cargo_args(path: "src/sprag")
    system bin/"sprag", "man", "man"
    man1.install Dir["man/*.1"]
    generate_completions_from_executable(bin/"sprag", "completions")
  end

  test do
    system bin/"sprag", "demo", testpath/"demo"
    assert_predicate testpath/"demo/_site/index.html", :exist?
  end
end
