// SPDX-License-Identifier: MIT
//
// A loop of Java NIO with a server's socket. It reads standard input after each wait: requests are those of requests.h.
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;

public class LoopNio {
    static volatile long sum;

    static void compute(long ms) {
        for (long end = System.nanoTime() + ms * 1000000; System.nanoTime() < end;) {
            sum++;
        }
    }

    static void block(long ms) throws Exception {
        Thread.sleep(ms);
    }

    public static void main(String[] args) throws Exception {
        Selector selector = Selector.open();
        ServerSocketChannel server = ServerSocketChannel.open();
        byte[] line = new byte[64];
        server.bind(new InetSocketAddress("127.0.0.1", 0));
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
        System.out.println("ready");
        for (;;) {
            selector.select(Math.max(10, Long.parseLong(args[0])));
            if (System.in.available() == 0) {
                continue;
            }
            String[] words = new String(line, 0, System.in.read(line)).trim().split(" ");
            if (words.length < 2) {
                System.out.println("interrupted 0");
                return;
            }
            long start = System.nanoTime();
            if (words[0].equals("cpu")) {
                compute(Long.parseLong(words[1]));
            } else {
                block(Long.parseLong(words[1]));
            }
            long end = System.nanoTime();
            System.out.println("stall " + words[0] + " " + start + " " + end);
        }
    }
}
