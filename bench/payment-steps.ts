import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fullPhase, inWorld } from './payments.ts';
import { profiling, sharesOf } from './payments/profile.ts';
import { startQuittance } from './payments/service.ts';
import { renderSection, type BenchSection } from './section.ts';

/* Where the CPU of a payment goes: the main job once more, with a profile of each thread. */

/** The threads that leave a profile, and its name. */
const PROFILES: Readonly<Record<string, string>> = {
  'main thread': 'main',
  ...Object.fromEntries(['projections', 'commits', 'audit', 'addresses'].map((name) => [name, name])),
};
const SHOWN_US = 10;

export async function benchPaymentSteps(): Promise<BenchSection> {
  const folder = mkdtempSync(join(tmpdir(), 'quittance-bench-profiles-'));
  try {
    const { cpuUs, payments, perSecond, clockUs } = await inWorld(
      (...world) => startQuittance(...world, profiling(folder)),
      fullPhase,
    );
    const steps = cpuUs.flatMap(([thread, us]): [string, string, number][] =>
      PROFILES[thread] === undefined
        ? [[thread, '', us]]
        : sharesOf(join(folder, `${PROFILES[thread]}.cpuprofile`), ...clockUs).map(([step, share]) => [
            thread,
            step,
            share * us,
          ]),
    );
    const shown = steps.filter(([thread, , us]) => us >= SHOWN_US && !thread.startsWith('v8:Prof'));
    const sum = shown.reduce((total, [, , us]) => total + us, 0);
    return {
      title: 'Where the CPU of a payment goes',
      intro:
        `${payments.toLocaleString('en-US')} payments, ${perSecond.toFixed(0)} a second, with a profile of each thread. Its clock says how much CPU a thread took, the profile in ` +
        'which shares; what libraries and Node do belongs to the place of ours that called them, as far as there is one.',
      columns: ['thread', 'step', 'ms a payment', 'share'],
      rows: shown.map(([thread, step, us]) => [
        thread,
        step,
        (us / 1_000).toFixed(3),
        `${((us / sum) * 100).toFixed(1)} %`,
      ]),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) process.stdout.write(`${renderSection(await benchPaymentSteps())}\n`);
