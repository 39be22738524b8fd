/** Links a histogram bucket to one of its traces, under the label that Grafana follows; empty without a trace. */
export type Exemplar = Readonly<Record<string, string>>;

/** The trace id of a W3C trace context. */
export const traceIdOf = (traceParent: string): string => traceParent.slice(3, 35);

export const exemplarOf = (traceParent: string | undefined): Exemplar =>
  traceParent === undefined ? {} : { trace_id: traceIdOf(traceParent) };

/** Supplies metrics with the traces they belong to. */
export interface TraceSource {
  /** The current trace context. */
  current(): string | undefined;
  /** The trace context of a delivery's last attempt. */
  ofAttempt(notificationId: string): string | undefined;
}

export const NO_TRACES: TraceSource = { current: () => undefined, ofAttempt: () => undefined };
