import { Worker } from 'node:worker_threads';
import { CommandRefused, optionalText, type AdminCommands } from '../../operator/commands.ts';
import type { Projection } from '../../ports/projection.ts';
import type { JsonValue } from '../../ports/read-model.ts';
import { projectionId } from '../../runtime/projections/batch.ts';
import { PROJECTIONS } from '../projections.ts';

/** How a projection stands against a replay of the ledger up to the same place. */
export interface ComparedProjection {
  readonly projection: string;
  /** Position both were compared at; null when nothing was projected yet. */
  readonly through: string | null;
  readonly rows: number;
  readonly differing: number;
  /** SHA-256 (hex) of the running one, and of the replay; null where the rows cannot be held still. */
  readonly digest: string | null;
  readonly replayed: string | null;
  /** The first differences, in words. */
  readonly examples: readonly string[];
}

/** The thread that compares, and what it must know beside the names. */
export type ComparisonThread =
  | { readonly kind: 'files'; readonly dataDir: string }
  | {
      readonly kind: 'servers';
      /** Where the replay is put for as long as it is compared. */
      readonly dataDir: string;
      readonly eventStoreUrl: string;
      readonly namespace: string;
      readonly redis: { readonly url: string; readonly prefix: string };
    };

const ENTRY = { files: './projection-compare-worker.ts', servers: './projection-compare-shared-worker.ts' } as const;

/** Compares on demand, one comparison at a time, and remembers the last result for the metrics. */
export class ProjectionComparison {
  readonly #thread: ComparisonThread;
  readonly #last = new Map<string, ComparedProjection>();
  #running: Worker | null = null;
  #first: Promise<unknown> | null = null;

  constructor(thread: ComparisonThread) {
    this.#thread = thread;
  }

  /** As last compared. */
  drift(): readonly { readonly projection: string; readonly rows: number }[] {
    return [...this.#last.values()].map(({ projection, differing }) => ({ projection, rows: differing }));
  }

  /** Whether every projection was compared. */
  isWhole(): boolean {
    return PROJECTIONS.every((projection) => this.#last.has(projectionId(projection)));
  }

  /** Compares all of them; a command that comes meanwhile waits for it. */
  async first(): Promise<void> {
    this.#first = this.compare();
    await this.#first.finally(() => (this.#first = null));
  }

  /** `name`: absent for all. Rejects while another comparison runs, and for a name that is none. */
  async compare(name?: string): Promise<readonly ComparedProjection[]> {
    const known = PROJECTIONS.flatMap((projection) => [projection.name, projectionId(projection)]);
    if (name !== undefined && !known.includes(name)) throw new CommandRefused(`name must be one of ${PROJECTIONS.map((one) => one.name).join(', ')}`);
    await this.#first?.catch(() => undefined);
    if (this.#running) throw new CommandRefused('a comparison is running already');
    const worker = new Worker(new URL(ENTRY[this.#thread.kind], import.meta.url), {
      name: 'compare',
      workerData: { ...this.#thread, names: name === undefined ? null : [name] },
      execArgv: [],
      env: {},
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

/** All of them when no names are given. */
export const comparedProjections = (names: readonly string[] | null): Projection[] =>
  PROJECTIONS.filter((projection) => names === null || names.includes(projection.name) || names.includes(projectionId(projection)));

/** `quittance projection compare`. */
export function compareCommands(comparison: ProjectionComparison): AdminCommands {
  return {
    'projection.compare': async (args) => {
      const compared = await comparison.compare(optionalText(args, 'name'));
      const drifted = compared.filter(({ differing }) => differing > 0).length;
      return { drifted, projections: compared as unknown as JsonValue };
    },
  };
}
