/**
 * One dependency of the service. `down` takes the node out of the load balancer; so does `refusing`, except for the
 * check of whether it may receive reads; `degraded` is informative.
 */
export interface HealthFact {
  readonly name: string;
  readonly state: 'ok' | 'degraded' | 'down' | 'refusing';
  readonly detail?: string;
}

export interface Health {
  readonly ready: boolean;
  /** Existing data can be read, although nothing new is accepted. */
  readonly readable: boolean;
  readonly facts: readonly HealthFact[];
}

type Check = () => HealthFact | readonly HealthFact[];

/** Collects what the parts of the service report about themselves. */
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

  /** Load balancers must send no new requests. */
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
