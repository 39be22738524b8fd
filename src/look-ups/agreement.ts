import { holding } from '../domain/values/written-json.ts';
import type { HealthFact } from '../observability/health.ts';
import type { Logger } from '../observability/logger.ts';
import type { ReadModel } from '../ports/read-model/read-model.ts';
import type { SharedStatus } from '../ports/shared-status.ts';
import { chainTable } from '../runtime/projections/batch.ts';
import { CHAIN_KEY, marksOf, type DigestMark } from '../runtime/projections/digest-chain.ts';
import { Recurring } from '../runtime/util/recurring.ts';
import { nodeName } from '../runtime/util/node-name.ts';
import type { Follows } from './messages.ts';
import type { ProjectionComparison } from './compare.ts';

export interface LookUpAgreementDeps {
  readonly follows: Follows;
  readonly sharedStatus: SharedStatus;
  readonly readModel: Pick<ReadModel, 'get' | 'generation'>;
  readonly comparison: Pick<ProjectionComparison, 'compare'>;
  readonly log: Logger;
}

type Marks = Readonly<Record<string, readonly DigestMark[]>>;

const isMark = holding<DigestMark>('position', 'digest');
const isMarks = (value: unknown): value is Marks =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((marks: unknown) => Array.isArray(marks) && marks.every(isMark));

const ABOUT = 'look-ups/';
const EVERY_MS = 5_000;
/** A process that is gone no longer differs; one that compares a large log with its rows is silent for long. */
const PUBLISHED_FOR_MS = 600_000;
const REMEDY = 'run `quittance projection rebuild` on this node';

/**
 * Publishes the digests of this process's look-ups and compares them with the others'. If two differ, each compares its
 * own with a replay of the event log, and one that differs from the replay stops serving.
 */
export class LookUpAgreement {
  readonly #deps: LookUpAgreementDeps;
  readonly #node: string;
  readonly #rounds: Recurring;
  /** By projection: the process with a different result. */
  readonly #differing = new Map<string, string>();
  /** With the generation of the rows that a replay contradicted. */
  readonly #wrong = new Map<string, string | null>();
  readonly #compared = new Set<string>();

  constructor(deps: LookUpAgreementDeps) {
    this.#deps = deps;
    this.#node = nodeName(deps.follows.dataDir);
    const onError = (error: unknown): void =>
      deps.log.warn({ err: error }, 'look-ups could not be compared with those of other processes');
    this.#rounds = new Recurring(() => this.round(), EVERY_MS, onError);
  }

  start(): void {
    this.#rounds.start();
  }

  close(): Promise<void> {
    return this.#rounds.close();
  }

  /** Projections for which another process has a different result. */
  differing(): readonly string[] {
    return [...this.#differing.keys()];
  }

  health(): HealthFact {
    const name = 'look-ups-agree';
    if (this.#wrong.size > 0)
      return {
        name,
        state: 'down',
        detail: `different from the event log: ${[...this.#wrong.keys()].join(', ')}; ${REMEDY}`,
      };
    if (this.#differing.size === 0) return { name, state: 'ok' };
    const others = [...this.#differing].map(([projection, node]) => `${projection} (${node})`).join(', ');
    return {
      name,
      state: 'degraded',
      detail: `another process derived different look-ups from the event log: ${others}`,
    };
  }

  async round(): Promise<void> {
    const { sharedStatus, log } = this.#deps;
    const mine = await this.#marks();
    sharedStatus.publish(ABOUT + this.#node, 0, mine, PUBLISHED_FOR_MS);
    const found = differencesOf(mine, sharedStatus.readAll(ABOUT), ABOUT + this.#node);
    for (const [projection, other] of found) {
      if (this.#differing.has(projection)) continue;
      this.#differing.set(projection, other);
      log.error({ projection, other }, 'two processes derived different look-ups from the same events');
    }
    for (const projection of [...this.#differing.keys()]) if (!found.has(projection)) await this.#agreed(projection);
    for (const projection of found.keys()) if (!this.#compared.has(projection)) await this.#compare(projection);
  }

  /** Once per difference: a replay tells whose look-ups are wrong. */
  async #compare(projection: string): Promise<void> {
    const { comparison, readModel, log } = this.#deps;
    const generation = await readModel.generation(projection);
    const [compared] = await comparison.compare(projection);
    this.#compared.add(projection);
    if (!compared || compared.differing === 0) return void this.#wrong.delete(projection);
    this.#wrong.set(projection, generation);
    log.error(
      { projection, rows: compared.differing, examples: compared.examples, remedy: REMEDY },
      'look-ups differ from the event log: this process stops serving',
    );
  }

  /**
   * The absence of other processes repairs nothing: look-ups found wrong stay out of service until they were rebuilt
   * and a replay agrees.
   */
  async #agreed(projection: string): Promise<void> {
    const wrong = this.#wrong.get(projection);
    if (wrong !== undefined && wrong !== (await this.#deps.readModel.generation(projection)))
      await this.#compare(projection);
    if (this.#wrong.has(projection)) return;
    this.#differing.delete(projection);
    this.#compared.delete(projection);
  }

  async #marks(): Promise<Marks> {
    const { readModel, follows } = this.#deps;
    const read = follows.projections.map(
      async (id) => [id, marksOf(await readModel.get(chainTable(id), CHAIN_KEY))] as const,
    );
    return Object.fromEntries(await Promise.all(read));
  }
}

/** Projections with a different digest at the same position, each with the process that reported it. */
function differencesOf(mine: Marks, published: ReadonlyMap<string, unknown>, me: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [about, marks] of published) {
    if (about === me) continue;
    if (!isMarks(marks)) continue;
    for (const [projection, others] of Object.entries(marks)) {
      const own = new Map((mine[projection] ?? []).map(({ position, digest }) => [position, digest]));
      const differs = others.some(({ position, digest }) => own.has(position) && own.get(position) !== digest);
      if (differs) found.set(projection, about.slice(ABOUT.length));
    }
  }
  return found;
}
