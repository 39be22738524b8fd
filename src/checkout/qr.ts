import QRCode from 'qrcode';
import { must } from '../domain/values/must.ts';

export interface QrCode {
  /** SVG path with one stroke per run of dark modules, in modules, surrounded by the quiet zone. */
  readonly path: string;
  /** Modules across, including the quiet zone. */
  readonly size: number;
}

/** Light modules around the code that readers need (ISO/IEC 18004, 5.3.8). */
const QUIET_ZONE = 4;
/** Codes of open sessions are needed again for every view of the page. */
const CACHED = 1_000;
const cache = new Map<string, QrCode>();

/** The text as a QR code. Level M: screens are rarely scratched, and a smaller code can be read from further away. */
export function qrCode(text: string): QrCode {
  const known = cache.get(text);
  if (known) return known;
  const code = draw(text);
  if (cache.size >= CACHED) cache.delete(must(cache.keys().next().value));
  cache.set(text, code);
  return code;
}

function draw(text: string): QrCode {
  const { modules } = QRCode.create(text, { errorCorrectionLevel: 'M' });
  const across = modules.size;
  const isDark = (row: number, column: number): boolean => modules.data[row * across + column] === 1;
  let path = '';
  for (let row = 0; row < across; row++) {
    let at = 0;
    let begun = false;
    for (let column = 0; column < across; column++) {
      if (!isDark(row, column)) continue;
      let end = column;
      while (end < across && isDark(row, end)) end++;
      path += begun
        ? `m${column - at} 0h${end - column}`
        : `M${column + QUIET_ZONE} ${row + QUIET_ZONE}.5h${end - column}`;
      begun = true;
      at = end;
      column = end;
    }
  }
  return { path, size: across + 2 * QUIET_ZONE };
}

/** A whole SVG document. */
export function qrSvg(text: string): string {
  const { path, size } = qrCode(text);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path stroke="#000" d="${path}"/></svg>`;
}
