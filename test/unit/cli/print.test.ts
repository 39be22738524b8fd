import { afterEach, expect, it, vi } from 'vitest';
import { print } from '../../../src/cli/print.ts';

afterEach(() => vi.restoreAllMocks());

function printed(value: Parameters<typeof print>[0], json: boolean): string {
  let text = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  print(value, json);
  return text;
}

it('times are dates for people and numbers for programs', () => {
  const value = {
    closed_at: 1_800_000_000,
    entries: 1_800_000_000,
    nextAttemptAtMs: 1_800_000_000_500,
    requestedAtSec: 1_800_000_001,
    ended_at: null,
  };
  expect(printed(value, false).split('\n')).toEqual([
    'closed_at        2027-01-15 08:00:00 UTC',
    'entries          1800000000',
    'nextAttemptAtMs  2027-01-15 08:00:00 UTC',
    'requestedAtSec   2027-01-15 08:00:01 UTC',
    'ended_at         -',
    '',
  ]);
  expect(JSON.parse(printed(value, true))).toEqual(value);
});
