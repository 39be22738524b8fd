/** One thing the service depends on. `ok: false` takes the node out of the load balancer; `degraded` only tells. */
export interface HealthFact {
  readonly name: string;
  readonly state: 'ok' | 'degraded' | 'down';
  readonly detail?: string;
}

export interface Health {
  readonly ready: boolean;
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
    return { ready: facts.every((fact) => fact.state !== 'down'), facts };
  }
}
