import { eventually } from '../support/running-sandbox.ts';
import type { DrillWorld } from './drill-world.ts';

/** A fault, how it is caused and ended, and the alerts that must fire while it lasts and clear after it. */
export interface Drill {
  readonly alerts: readonly string[];
  /** How it is caused, for the table in `docs/observability.md`. */
  readonly fault: string;
  cause(world: DrillWorld): Promise<unknown>;
  /** Repeated until all have fired, such as requests that meet the fault. */
  during?(world: DrillWorld): Promise<unknown>;
  end(world: DrillWorld): Promise<unknown>;
  /** Repeated until all have cleared, such as requests that succeed. */
  after?(world: DrillWorld): Promise<unknown>;
}

/** Drills of a track take turns; tracks of a round run at once, and rounds one after the other. */
export type Round = readonly (readonly Drill[])[];

export interface DrillResult {
  readonly alert: string;
  readonly fault: string;
  /** Seconds from the fault to the alert; null when it did not fire. */
  readonly firedSec: number | null;
  /** Seconds from the end of the fault to all clear; null when it did not clear. */
  readonly clearedSec: number | null;
}

const FIRE_MS = 300_000;
const CLEAR_MS = 180_000;

/** Watches the alerts of a drill. What does not happen in time is a result, not an error. */
export class DrillRunner {
  readonly results: DrillResult[] = [];
  readonly #world: DrillWorld;
  readonly #clearing: Promise<void>[] = [];

  constructor(world: DrillWorld) {
    this.#world = world;
  }

  async run(rounds: readonly Round[]): Promise<void> {
    for (const round of rounds) await Promise.all(round.map((track) => this.#track(track)));
    await Promise.all(this.#clearing);
  }

  async #track(track: readonly Drill[]): Promise<void> {
    for (const drill of track) {
      try {
        await this.#drill(drill);
      } catch (error) {
        console.error(`drill of ${drill.alerts.join(', ')}: ${error instanceof Error ? error.message : String(error)}`);
        const done = new Set(this.results.filter(({ fault }) => fault === drill.fault).map(({ alert }) => alert));
        for (const alert of drill.alerts) {
          if (!done.has(alert)) this.results.push({ alert, fault: drill.fault, firedSec: null, clearedSec: null });
        }
        await drill.end(this.#world).catch(() => undefined);
      }
    }
  }

  async #drill(drill: Drill): Promise<void> {
    const { alerts } = drill;
    await eventually(
      `${alerts.join(', ')} to be silent before`,
      async () => (await this.#firing(alerts)).length === 0,
      CLEAR_MS,
    );
    const causedMs = performance.now();
    await drill.cause(this.#world);
    const firedSec = new Map<string, number>();
    await eventually(
      `${alerts.join(', ')} to fire`,
      async () => {
        const [firing] = await Promise.all([this.#firing(alerts), drill.during?.(this.#world)]);
        for (const alert of firing) if (!firedSec.has(alert)) firedSec.set(alert, since(causedMs));
        return firedSec.size === alerts.length;
      },
      FIRE_MS,
    ).catch((error: unknown) => console.error(`${String(error)}; fired: ${[...firedSec.keys()].join(', ')}`));
    console.log(`fired: ${[...firedSec].map(([alert, sec]) => `${alert} after ${sec} s`).join(', ')}`);
    await drill.end(this.#world);
    this.#clearing.push(this.#clears(drill, firedSec));
  }

  async #clears(drill: Drill, firedSec: ReadonlyMap<string, number>): Promise<void> {
    const endedMs = performance.now();
    const waiting = new Set(firedSec.keys());
    const done = (alert: string, clearedSec: number | null): void => {
      this.results.push({ alert, fault: drill.fault, firedSec: firedSec.get(alert) ?? null, clearedSec });
    };
    for (const alert of drill.alerts) if (!firedSec.has(alert)) done(alert, null);
    await eventually(
      'clearing',
      async () => {
        const [firing] = await Promise.all([this.#firing([...waiting]), drill.after?.(this.#world)]);
        for (const alert of waiting) {
          if (firing.includes(alert)) continue;
          waiting.delete(alert);
          done(alert, since(endedMs));
        }
        return waiting.size === 0;
      },
      CLEAR_MS,
    ).catch(() => waiting.forEach((alert) => done(alert, null)));
    console.log(`over: ${drill.alerts.join(', ')}`);
  }

  async #firing(alerts: readonly string[]): Promise<string[]> {
    const rules = await this.#world.prometheus.rules();
    return rules.filter(({ name, state }) => state === 'firing' && alerts.includes(name)).map(({ name }) => name);
  }
}

const since = (fromMs: number): number => Math.round((performance.now() - fromMs) / 1000);
