// SPDX-License-Identifier: MIT
// Executors of Java with more work than threads.
import java.util.concurrent.*;

public class Busy {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        long until = System.nanoTime() + Long.parseLong(args[0]) * 1000000000L;
        Semaphore places = new Semaphore(12);
        for (int i = 0; System.nanoTime() < until; i++) {
            final int n = i;
            places.acquire();
            pool.submit(() -> {
                try {
                    Thread.sleep(10 * (1 + n % 20));
                } catch (InterruptedException e) {
                }
                places.release();
            });
        }
        pool.shutdown();
    }
}
