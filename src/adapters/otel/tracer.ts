import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
  type Context,
  type Link,
  type SpanContext,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { Span, SpanOptions, TraceParent, Tracer } from '../../ports/tracing.ts';
import { must } from '../../domain/values/must.ts';

export interface OtelTracerOptions {
  /** Base address of an OTLP/HTTP receiver; `/v1/traces` is added. */
  readonly endpoint: string;
  readonly version: string;
  readonly instance: string;
}

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;
const TRACE_PARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const SEND_EVERY_MS = 1_000;
/** Spans kept while the receiver is slow. Further ones are dropped to bound memory. */
const MAX_QUEUE = 8_192;
const CLOSE_MS = 2_000;

/** Sends spans over OTLP/HTTP in batches. An unavailable receiver costs only its spans. */
export function createOtelTracer(options: OtelTracerOptions): Tracer {
  const exporter = new OTLPTraceExporter({ url: `${options.endpoint.replace(/\/$/, '')}/v1/traces` });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'quittance',
      'service.version': options.version,
      'service.instance.id': options.instance,
    }),
    spanProcessors: [
      new BatchSpanProcessor(exporter, { scheduledDelayMillis: SEND_EVERY_MS, maxQueueSize: MAX_QUEUE }),
    ],
  });
  const tracer = provider.getTracer('quittance', options.version);
  return {
    start: (name, given) => {
      const { kind = 'internal', facts, startMs } = given;
      const settings = {
        kind: KINDS[kind],
        links: linksOf(given),
        ...(facts && { attributes: { ...facts } }),
        ...(startMs !== undefined && { startTime: startMs }),
      };
      return wrapped(tracer.startSpan(name, settings, parentOf(given)));
    },
    close: async () => {
      const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  };
}

function wrapped(span: ReturnType<ReturnType<NodeTracerProvider['getTracer']>['startSpan']>): Span {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceParent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    rename: (name) => void span.updateName(name),
    add: (facts) => void span.setAttributes({ ...facts }),
    fail: (type) => void span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR }),
    end: () => span.end(),
  };
}

function contextOf(traceParent: TraceParent | undefined): SpanContext | null {
  const match = traceParent === undefined ? null : TRACE_PARENT.exec(traceParent);
  if (!match) return null;
  return {
    traceId: must(match[1]),
    spanId: must(match[2]),
    traceFlags: Number.parseInt(must(match[3]), 16) & TraceFlags.SAMPLED,
    isRemote: true,
  };
}

function parentOf({ parent }: SpanOptions): Context {
  const context = contextOf(parent);
  return context ? trace.setSpanContext(ROOT_CONTEXT, context) : ROOT_CONTEXT;
}

const linksOf = ({ links = [] }: SpanOptions): Link[] =>
  links.flatMap((traceParent) => {
    const context = contextOf(traceParent);
    return context ? [{ context }] : [];
  });
