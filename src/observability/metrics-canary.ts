import { Gauge, type Registry } from 'prom-client';
import { CANARY_STEPS } from '../domain/canary.ts';
import type { CanaryStatus } from '../features/canary/canaries.process.ts';

/** Payments of our own to ourselves; nothing where another process makes them. */
export function reportCanaries(registry: Registry, status: () => readonly CanaryStatus[], everySec: number): void {
  const registers = [registry];
  const labelNames = ['mode', 'network'] as const;
  const ofStep = (name: string, help: string, value: (status: CanaryStatus, step: (typeof CANARY_STEPS)[number]) => number | null): void => {
    new Gauge({
      ...{ name, help, registers },
      labelNames: [...labelNames, 'step'],
      collect() {
        this.reset();
        for (const each of status())
          for (const step of CANARY_STEPS) {
            const { mode, network } = each;
            const seconds = value(each, step);
            if (seconds !== null) this.set({ mode, network, step }, seconds);
          }
      },
    });
  };
  const ofNetwork = (name: string, help: string, value: (status: CanaryStatus) => number | null): void => {
    new Gauge({
      ...{ name, help, registers, labelNames },
      collect() {
        this.reset();
        for (const each of status()) {
          const { mode, network } = each;
          const found = value(each);
          if (found !== null) this.set({ mode, network }, found);
        }
      },
    });
  };
  ofStep('quittance_canary_step_seconds', 'What a step of the last canary payment took, or has taken so far.', (each, step) => each.stepSec(step));
  ofStep('quittance_canary_step_promise_seconds', 'Within what a step of a canary payment is to be over.', (each, step) => each.promiseSec(step));
  ofNetwork('quittance_canary_ok', '1 while the last canary payment of a network went there and back.', ({ isOk }) =>
    isOk === null ? null : Number(isOk),
  );
  ofNetwork('quittance_canary_last_end_timestamp_seconds', 'When the last canary payment of a network ended.', ({ endedAtSec }) => endedAtSec);
  ofNetwork('quittance_canary_interval_seconds', 'Between two canary payments of a network.', () => everySec);
  new Gauge({
    name: 'quittance_canary_held_up',
    help: '1 while no canary payment is made on a network, by what holds it up.',
    labelNames: [...labelNames, 'reason'],
    registers,
    collect() {
      this.reset();
      for (const { mode, network, heldUp } of status()) if (heldUp !== null) this.set({ mode, network, reason: heldUp }, 1);
    },
  });
}
