import { Gauge, type Registry } from 'prom-client';

type Series<Label extends string> = readonly [labels: Readonly<Record<Label, string>>, value: number | null];

interface Gauges {
  /** Null keeps the last value. */
  (name: string, help: string, read: () => number | null | Promise<number>): void;
  /** One value per combination of labels. Combinations that are not read any more disappear. */
  by<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    read: () => Iterable<Series<Label>>,
  ): void;
}

/** Gauges that are read when metrics are collected. */
export function gaugesIn(registry: Registry): Gauges {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number | null | Promise<number>): void => {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const value = await read();
        if (value !== null) this.set(value);
      },
    });
  };
  const by: Gauges['by'] = (name, help, labelNames, read) => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const [labels, value] of read()) if (value !== null) this.set(labels, value);
      },
    });
  };
  return Object.assign(gauge, { by });
}
