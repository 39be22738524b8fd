import { Counter, Histogram, type Registry } from 'prom-client';
import type { AuthenticationFault } from '../../http/authentication.ts';
import { exemplarOf, type TraceSource } from './exemplar.ts';
import type { HttpObserver } from '../../http/endpoint.ts';

const FAULTS: readonly AuthenticationFault[] = [
  'header_missing',
  'header_malformed',
  'timestamp',
  'unknown_key',
  'signature',
  'nonce_used',
  'signature_version',
  'address',
];
const BUCKETS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Rate, errors and duration of every route, and why authentication failed. */
export class HttpMetrics implements HttpObserver {
  readonly #requests: Counter<'operation' | 'status'>;
  readonly #duration: Histogram<'operation'>;
  readonly #failures: Counter<'fault'>;
  readonly #operatorFailures: Counter;

  readonly #traces: () => TraceSource;

  constructor(registry: Registry, traces: () => TraceSource) {
    this.#traces = traces;
    const registers = [registry];
    this.#requests = new Counter({
      name: 'quittance_http_requests_total',
      help: 'Responses by operation and HTTP status.',
      labelNames: ['operation', 'status'],
      registers,
    });
    this.#duration = new Histogram({
      name: 'quittance_http_request_duration_seconds',
      help: 'From the first byte of the request to the response, by operation.',
      labelNames: ['operation'],
      buckets: BUCKETS_SEC,
      enableExemplars: true,
      registers,
    });
    this.#failures = new Counter({
      name: 'quittance_authentication_failures_total',
      help: 'Failed authentications, by the check that failed.',
      labelNames: ['fault'],
      registers,
    });
    this.#operatorFailures = new Counter({
      name: 'quittance_operator_authentication_failures_total',
      help: "Requests to the operator's API without a valid token.",
      registers,
    });
    // A counter that first appears with its first failure hides that failure from increase().
    for (const fault of FAULTS) this.#failures.inc({ fault }, 0);
  }

  requestEnded(operation: string, _method: string, status: number, durationSec: number): void {
    this.#requests.inc({ operation, status });
    this.#duration.observe({
      labels: { operation },
      value: durationSec,
      exemplarLabels: exemplarOf(this.#traces().current()),
    });
  }

  /** A response that stays open on purpose: its duration says nothing about speed. */
  streamEnded(operation: string, status: number): void {
    this.#requests.inc({ operation, status });
  }

  operatorRefused(): void {
    this.#operatorFailures.inc();
  }

  authenticationFailed(fault: AuthenticationFault): void {
    this.#failures.inc({ fault });
  }
}
