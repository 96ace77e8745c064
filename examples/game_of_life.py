"""Conway's Game of Life on a torus, one thread per cell, two boards that swap roles on the device.

ENABLE_CUDASIM=1 python examples/game_of_life.py
"""

import numpy as np
from numba import cuda

THREADS = (16, 16)


@cuda.jit(device=True)
def neighbours(board, row, column):
    rows, columns = board.shape
    alive = 0
    for down in range(-1, 2):
        for right in range(-1, 2):
            if down != 0 or right != 0:
                alive += board[(row + down) % rows, (column + right) % columns]
    return alive


@cuda.jit
def next_generation(board, following):
    row, column = cuda.grid(2)
    if row < board.shape[0] and column < board.shape[1]:
        alive = neighbours(board, row, column)
        following[row, column] = alive == 3 or (alive == 2 and board[row, column] == 1)


def play(board, generations):
    """The board (rows, columns) of 0 and 1, some generations later."""
    blocks = tuple((extent + threads - 1) // threads for extent, threads in zip(board.shape, THREADS))
    board, following = cuda.to_device(board), cuda.device_array_like(board)
    for _ in range(generations):
        next_generation[blocks, THREADS](board, following)
        board, following = following, board
    return board.copy_to_host()


def main():
    glider = np.zeros((64, 100), dtype=np.uint8)
    glider[0:3, 0:3] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    later = play(glider, 4 * 20)
    assert np.array_equal(later, np.roll(glider, (20, 20), axis=(0, 1)))
    print("game_of_life: after 80 generations the glider is 20 rows and 20 columns further")


if __name__ == "__main__":
    main()
