import { projectionsOf, PROJECTIONS } from '../../../src/look-ups/projections.ts';
import type { Projection } from '../../../src/ports/read-model/projection.ts';
import { systemClock } from '../../../src/ports/clock.ts';
import { ProjectionRunner } from '../../../src/runtime/projections/runner.ts';
import { MemoryReadModel } from '../../support/memory-read-model.ts';
import type { World } from '../world.ts';

/** What a replay of the whole log makes of the look-ups, beside what the service made of them over all its starts. */
export class Replay {
  readonly #world: World;
  readonly #model = new MemoryReadModel();
  readonly #projections: readonly Projection[];
  readonly #runner: ProjectionRunner;

  constructor(world: World) {
    this.#world = world;
    this.#projections =
      world.plan.profile === 'shared' ? projectionsOf({ api: true, worker: true, signer: true }) : PROJECTIONS;
    this.#runner = new ProjectionRunner({
      store: world.log.connect(),
      readModel: this.#model,
      projections: this.#projections,
      clock: systemClock,
    });
  }

  /** Begins it; time must pass before the two are compared. */
  start(): Promise<void> {
    return this.#runner.start();
  }

  differences(): string[] {
    const served = this.#world.disk.rowsOf(0);
    const ids = this.#projections.map(({ name, version }) => `${name}@${version}`);
    const isBehind = ids.filter((id) => served.checkpoints.get(id) !== this.#model.checkpoints.get(id));
    const names = this.#projections.flatMap(({ tables }) => tables);
    const tables = names.filter((name) => textOf(served.tables.get(name)) !== textOf(this.#model.tables.get(name)));
    const lists = [...this.#model.lists].filter(
      ([name, members]) => JSON.stringify(members) !== JSON.stringify(served.lists.get(name) ?? []),
    );
    return [
      ...isBehind.map(
        (id) =>
          `the look-ups of ${id} stand at ${served.checkpoints.get(id)}, a replay at ${this.#model.checkpoints.get(id)}`,
      ),
      ...tables.map((name) => `table ${name} is not what a replay makes of it`),
      ...lists.map(([name]) => `list ${name} is not what a replay makes of it`),
    ];
  }
}

const textOf = (table: ReadonlyMap<string, unknown> | undefined): string =>
  JSON.stringify([...(table ?? [])].sort(([one], [other]) => (one < other ? -1 : 1)));
