/**
 * One thing the service depends on. `down` takes the node out of the load balancer; `refusing` does, too, unless it is
 * asked whether it may be sent reads; `degraded` only tells.
 */
export interface HealthFact {
  readonly name: string;
  readonly state: 'ok' | 'degraded' | 'down' | 'refusing';
  readonly detail?: string;
}

export interface Health {
  readonly ready: boolean;
  /** What exists can be read, though nothing new is taken. */
  readonly readable: boolean;
  readonly facts: readonly HealthFact[];
}

type Check = () => HealthFact | readonly HealthFact[];

/** Collects what the parts of the service say about themselves. */
export class HealthChecks {
  readonly #checks: Check[] = [];
  #starting = true;
  #stopping = false;

  add(check: Check): void {
    this.#checks.push(check);
  }

  /** The service accepts requests from now on. */
  started(): void {
    this.#starting = false;
  }

  get hasStarted(): boolean {
    return !this.#starting;
  }

  /** Load balancers shall send nothing new. */
  stopping(): void {
    this.#stopping = true;
  }

  report(): Health {
    const facts = this.#checks.flatMap((check) => check());
    if (this.#starting) facts.unshift({ name: 'start-up', state: 'down', detail: 'starting' });
    if (this.#stopping) facts.unshift({ name: 'shutdown', state: 'down', detail: 'shutting down' });
    const readable = facts.every(({ state }) => state !== 'down');
    return { ready: readable && facts.every(({ state }) => state !== 'refusing'), readable, facts };
  }
}
