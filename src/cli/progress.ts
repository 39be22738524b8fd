import type { WriteStream } from 'node:tty';

const WIDTH = 30;
const REDRAW_MS = 100;
/** Without a terminal, an occasional line is enough for the log. */
const LINE_MS = 10_000;

export interface Progress {
  report(stage: string, done: number, total: number): void;
  /** Leaves the cursor on a new line. */
  end(): void;
}

/** Progress of a long command: a bar on a terminal, otherwise a line at each new stage and every ten seconds. */
export function createProgress(output: Pick<WriteStream, 'write'> & { readonly isTTY?: boolean }): Progress {
  const terminal = output.isTTY === true;
  let stage = '';
  let startedMs = 0;
  let startedAt = 0;
  let shownMs = 0;
  const show = (done: number, total: number): void => {
    shownMs = performance.now();
    const seconds = (shownMs - startedMs) / 1000;
    const rate = seconds > 0 ? (done - startedAt) / seconds : 0;
    const line = lineOf(stage, done, total, rate);
    output.write(terminal ? `\r\u001b[2K${barOf(done, total)} ${line}` : `${line}\n`);
  };
  return {
    report: (name, done, total) => {
      const isNew = name !== stage;
      if (isNew) {
        if (terminal && stage !== '') output.write('\n');
        stage = name;
        startedMs = performance.now();
        startedAt = done;
      }
      if (isNew || done >= total || performance.now() - shownMs >= (terminal ? REDRAW_MS : LINE_MS)) show(done, total);
    },
    end: () => {
      if (terminal && stage !== '') output.write('\n');
    },
  };
}

function barOf(done: number, total: number): string {
  const filled = total > 0 ? Math.min(WIDTH, Math.floor((done / total) * WIDTH)) : WIDTH;
  return `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}]`;
}

function lineOf(stage: string, done: number, total: number, rate: number): string {
  const percent = total > 0 ? Math.min(100, Math.floor((done / total) * 100)) : 100;
  const left = rate > 0 && done < total ? `, ${duration((total - done) / rate)} left` : '';
  return `${String(percent).padStart(3)} % ${stage}${rate >= 1 ? ` (${Math.round(rate)}/s${left})` : ''}`;
}

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`;
}
