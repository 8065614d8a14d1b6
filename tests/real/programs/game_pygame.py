# SPDX-License-Identifier: MIT
#
# A game of pygame: it waits for no event, and sleeps between its frames.

import time

import pygame

from schedule import callback, wait_ms

pygame.display.init()
screen, clock = pygame.display.set_mode((200, 100)), pygame.time.Clock()


def play_until(end):
    while time.monotonic() < end:
        pygame.event.get()
        screen.fill((clock.get_time() % 255, 0, 0))
        pygame.display.flip()
        clock.tick(60)


ms = wait_ms()
while ms is not None:
    play_until(time.monotonic() + ms / 1000)
    ms = callback()
pygame.quit()
