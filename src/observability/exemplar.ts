/**
 * What leads from a bucket of a histogram to one trace in it, by the name that Grafana follows; nothing where there is
 * no trace.
 */
export type Exemplar = Readonly<Record<string, string>>;

/** The trace of a W3C trace context. */
export const traceIdOf = (traceParent: string): string => traceParent.slice(3, 35);

export const exemplarOf = (traceParent: string | undefined): Exemplar =>
  traceParent === undefined ? {} : { trace_id: traceIdOf(traceParent) };

/** Where figures find the traces that they are of. */
export interface TraceSource {
  /** The trace context of this moment. */
  current(): string | undefined;
  /** That of the last attempt of a delivery. */
  ofAttempt(notificationId: string): string | undefined;
}

export const NO_TRACES: TraceSource = { current: () => undefined, ofAttempt: () => undefined };
