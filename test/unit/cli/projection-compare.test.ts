import { afterEach, expect, it, vi } from 'vitest';
import type { CliHost } from '../../../src/cli/host.ts';
import { createProgram } from '../../../src/cli/program.ts';

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

it.each([
  [0, undefined],
  [2, 1],
])('a comparison that finds %s projections wrong ends with %s', async (drifted, code) => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const host = { admin: async () => ({ drifted, projections: [] }) } as unknown as CliHost;
  await createProgram(host).parseAsync(['node', 'quittance', 'projection', 'compare']);
  expect(process.exitCode).toBe(code);
});
