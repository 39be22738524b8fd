import { writeFile } from 'node:fs/promises';
import { expect, test, vi } from 'vitest';
import { Anchor } from '../../../../src/adapters/sqlite/event-log/anchor.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

vi.mock('node:fs/promises', { spy: true });

test('a note waits for the one before it, which writes the same new file', async () => {
  const dataDir = temporaryFolder('anchor');
  const anchor = new Anchor(dataDir);
  const tail = (position: number) => ({ position, chain: String(position).repeat(64) });
  const finish: (() => void)[] = [];
  vi.mocked(writeFile).mockImplementation(() => new Promise((resolve) => finish.push(resolve)));
  vi.useFakeTimers();
  try {
    for (const position of [1, 2]) {
      anchor.note(tail(position));
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(finish).toHaveLength(1);
    finish[0]!();
    vi.mocked(writeFile).mockRestore();
  } finally {
    vi.useRealTimers();
  }
  await anchor.close();
  expect(anchor.read()).toEqual(tail(2));
});
