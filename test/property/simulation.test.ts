import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REPOSITORY } from '../support/repository.ts';

const CASES = join(REPOSITORY, 'test/simulation/cases');
/** Half a minute of one core, on a machine that has much else to do. */
const ROUNDS_MS = 600_000;

interface Simulated {
  readonly digests: readonly string[];
  readonly text: string;
  readonly status: number | null;
}

/** Settings in which machines differ: the time zone, the language, and whether there is a home folder. */
const ELSEWHERE = { TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8', HOME: '/nonexistent' };

const simulate = (...args: string[]): Simulated => simulateWith({}, args);
const simulateElsewhere = (...args: string[]): Simulated => simulateWith(ELSEWHERE, args);

/** A program of its own: it takes the runtime's clock over. */
function simulateWith(settings: Readonly<Record<string, string>>, args: readonly string[]): Simulated {
  const program = ['test/simulation/main.ts', '--no-shrink', '--directory', 'simulation-failures', ...args];
  const { stdout, stderr, status } = spawnSync(process.execPath, program, {
    ...{ cwd: REPOSITORY, encoding: 'utf8', maxBuffer: 2 ** 28 },
    env: { ...process.env, ...settings },
  });
  return {
    digests: [...stdout.matchAll(/^seed .*: ([0-9a-f]{64}) /gm)].map(([, digest]) => digest!),
    text: stdout + stderr,
    status,
  };
}

describe('a whole installation in virtual time', () => {
  it(
    'keeps its promises under the faults of some seeds, and is the same to the byte elsewhere for the same seed',
    { timeout: ROUNDS_MS },
    () => {
      const few = ['--steps', '8', '--profile', 'embedded'];
      const embedded = simulate('--seed', 'every time', '--runs', '2', ...few);
      expect(embedded.status, embedded.text).toBe(0);
      expect(embedded.digests).toHaveLength(2);
      expect(simulateElsewhere('--seed', 'every time-1', ...few).digests).toEqual(embedded.digests.slice(1));
      const shared = simulate('--seed', 'every time', '--steps', '8', '--profile', 'shared', '--network', 'bsc');
      expect(shared.status, shared.text).toBe(0);
    },
  );

  it.each([
    { network: 'tron', seed: 'on TRON 3', met: ['GasTopUpCompleted'] },
    { network: 'solana', seed: 'on Solana 4', met: ['NonceAccountCompleted'] },
  ])(
    'keeps its promises on $network, from payments to refunds and sweeps, and is the same each time',
    { timeout: ROUNDS_MS },
    ({ network, seed, met }) => {
      const focus = ['reorg', 'provider', 'sweep'].flatMap((kind) => ['--focus', kind]);
      const plan = ['--seed', seed, '--network', network, '--steps', '14', '--profile', 'embedded', ...focus];
      const { status, text, digests } = simulate(...plan, '--coverage');
      expect(status, text).toBe(0);
      for (const event of ['SessionPaid when open', 'RefundCompleted when paid', 'SweepCompleted', ...met])
        expect(text).toMatch(new RegExp(`[1-9]  event ${event}`));
      expect(simulate(...plan).digests).toEqual(digests);
    },
  );

  it('lets the signer sign nothing for an attacker who controls the worker', { timeout: ROUNDS_MS }, () => {
    const focus = ['attack', 'sweep'].flatMap((kind) => ['--focus', kind]);
    const where = ['--network', 'bsc', '--steps', '14', '--profile', 'embedded', ...focus];
    const { text, status } = simulate('--seed', 'attacked', ...where, '--coverage');
    expect(status, text).toBe(0);
    const released = ['release sweep may_have_paid', 'release gas_top_up may_have_paid'];
    for (const answer of ['not_the_payer', 'exceeds_deposit', 'not_on_allow_list', 'approval', ...released])
      expect(text).toMatch(new RegExp(`[1-9]  attack ${answer}`));
    expect(text).not.toContain('attack signed');
  });

  it(
    'pays nobody who was settled before, and no approver signs what a false service asks',
    { timeout: ROUNDS_MS },
    () => {
      const focus = ['socket', 'settle'].flatMap((kind) => ['--focus', kind]);
      const where = ['--network', 'bsc', '--steps', '20', '--profile', 'embedded', ...focus];
      const { text, status } = simulate('--seed', 'sx', ...where, '--coverage');
      expect(status, text).toBe(0);
      for (const move of ['a merchant who was settled refunds', 'approver signs nothing that was not typed'])
        expect(text).toMatch(new RegExp(`[1-9]  ${move}`));
    },
  );

  it('does not fall back into what was found before', { timeout: ROUNDS_MS }, () => {
    const files = readdirSync(CASES).filter((name) => name.endsWith('.json'));
    const { text, status, digests } = simulate(...files.flatMap((name) => ['--replay', join(CASES, name)]));
    expect(status, text).toBe(0);
    expect(digests).toHaveLength(files.length);
  });

  it.each([
    ['--runs', 'many', '--runs must be a whole number, not many'],
    ['--network', 'dogecoin', '--network must be one of ethereum, bsc, tron, solana, not dogecoin'],
    ['--profile', 'cloud', '--profile must be embedded or shared, not cloud'],
    ['--replay', 'nowhere.json', '--replay: nowhere.json cannot be read as a plan'],
  ])('refuses %s %s in clear words', (option, value, words) => {
    const { text, status } = simulate(option, value);
    expect(text).toContain(words);
    expect(status).toBe(2);
  });
});
