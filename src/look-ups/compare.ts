import { Worker } from 'node:worker_threads';
import { CommandRefused, json, optionalText, type AdminCommands } from '../operator/server/commands.ts';
import { projectionId } from '../runtime/projections/batch.ts';
import { projectionsNamed } from './projections.ts';
import type { Follows } from './messages.ts';
import { threadEnvironment } from '../runtime/util/thread-environment.ts';

/** The result of comparing a projection with a replay of the event log up to the same position. */
export interface ComparedProjection {
  readonly projection: string;
  /** Position of the comparison; null if nothing was projected yet. */
  readonly through: string | null;
  readonly rows: number;
  readonly differing: number;
  /** SHA-256 (hex) of the running one, and of the replay. */
  readonly digest: string;
  readonly replayed: string;
  /** The first differences, in words. */
  readonly examples: readonly string[];
}

/** Compares on demand, one comparison at a time, and keeps the last result for metrics. */
export class ProjectionComparison {
  readonly #follows: Follows;
  readonly #last = new Map<string, ComparedProjection>();
  #running: Worker | null = null;
  #first: Promise<unknown> | null = null;

  constructor(follows: Follows) {
    this.#follows = follows;
  }

  /** From the last comparison. */
  drift(): readonly { readonly projection: string; readonly rows: number }[] {
    return [...this.#last.values()].map(({ projection, differing }) => ({ projection, rows: differing }));
  }

  /** Whether every projection was compared. */
  isWhole(): boolean {
    return this.#follows.projections.every((id) => this.#last.has(id));
  }

  /** Compares all of them; a command that arrives meanwhile waits for it. */
  async first(): Promise<void> {
    this.#first = this.compare();
    await this.#first.finally(() => (this.#first = null));
  }

  /** `name`: absent for all. Rejects while another comparison runs, and for an unknown name. */
  async compare(name?: string): Promise<readonly ComparedProjection[]> {
    const kept = projectionsNamed(this.#follows.projections);
    const wanted = kept.filter(
      (projection) => name === undefined || name === projection.name || name === projectionId(projection),
    );
    if (wanted.length === 0) throw new CommandRefused(`name must be one of ${kept.map((one) => one.name).join(', ')}`);
    await this.#first?.catch(() => undefined);
    if (this.#running) throw new CommandRefused('a comparison is running already');
    const worker = new Worker(new URL('./compare-worker.ts', import.meta.url), {
      name: 'compare',
      workerData: { ...this.#follows, projections: wanted.map(projectionId) } satisfies Follows,
      execArgv: [],
      env: threadEnvironment(),
    });
    this.#running = worker;
    try {
      const compared = await new Promise<ComparedProjection[]>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
        worker.once('exit', () => reject(new Error('the comparison was ended')));
      });
      for (const one of compared) this.#last.set(one.projection, one);
      return compared;
    } finally {
      this.#running = null;
    }
  }

  async close(): Promise<void> {
    await this.#running?.terminate();
  }
}

/** `quittance projection compare`. */
export function compareCommands(comparison: ProjectionComparison): AdminCommands {
  return {
    'projection.compare': async (args) => {
      const compared = await comparison.compare(optionalText(args, 'name'));
      const drifted = compared.filter(({ differing }) => differing > 0).length;
      return { drifted, projections: json(compared) };
    },
  };
}
