import type { Registry } from 'prom-client';
import { canaryPromiseSec, CANARY_STEPS, type CanaryStep } from '../../domain/canary.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { CanaryStatus } from '../../features/canary/canaries.process.ts';
import { gaugesIn } from './gauges.ts';

/** In each process configured to make canary payments, so that it shows when none of them does. */
export function reportCanaryLease(registry: Registry, mode: Mode, isHeld: () => boolean): void {
  gaugesIn(registry).by(
    'quittance_canary_paying',
    '1 while this process makes the canary payments, 0 while it leaves them to another.',
    ['mode'],
    () => [[{ mode }, Number(isHeld())]],
  );
}

/** Canary payments; reports nothing where another process makes them. */
export function reportCanaries(registry: Registry, status: () => readonly CanaryStatus[], everySec: number): void {
  const report = <Label extends 'step' | 'reason'>(
    name: string,
    help: string,
    labels: readonly Label[],
    values: (
      each: CanaryStatus,
    ) => readonly (readonly [value: number | null, labels: Readonly<Record<Label, string>>])[],
  ): void =>
    gaugesIn(registry).by<'mode' | 'network' | Label>(name, help, ['mode', 'network', ...labels], () =>
      status().flatMap((each) =>
        values(each).map(([value, own]) => [{ mode: each.mode, network: each.network, ...own }, value] as const),
      ),
    );
  const ofStep = (name: string, help: string, value: (each: CanaryStatus, step: CanaryStep) => number | null): void =>
    report(name, help, ['step'], (each) => CANARY_STEPS.map((step) => [value(each, step), { step }]));
  const ofNetwork = (name: string, help: string, value: (each: CanaryStatus) => number | null): void =>
    report(name, help, [], (each) => [[value(each), {}]]);

  ofStep(
    'quittance_canary_step_seconds',
    'Duration of a step of the last canary payment, complete or so far.',
    (each, step) => each.stepSec(step),
  );
  ofStep('quittance_canary_step_promise_seconds', 'Time limit of a step of a canary payment.', ({ network }, step) =>
    canaryPromiseSec(network, step),
  );
  ofNetwork('quittance_canary_ok', '1 while the last canary payment of a network went there and back.', ({ isOk }) =>
    isOk === null ? null : Number(isOk),
  );
  ofNetwork(
    'quittance_canary_last_end_timestamp_seconds',
    'When the last canary payment of a network ended.',
    ({ endedAtSec }) => endedAtSec,
  );
  ofNetwork('quittance_canary_interval_seconds', 'Between two canary payments of a network.', () => everySec);
  report(
    'quittance_canary_held_up',
    '1 while no canary payment is made on a network, by what holds it up.',
    ['reason'],
    ({ heldUp }) => (heldUp === null ? [] : [[1, { reason: heldUp }]]),
  );
}
