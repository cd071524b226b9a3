import type { Orch } from '../../orch.ts';
import type { KnownConvoy } from '../find-convoy.ts';
import { listNewestConvoys } from './find-reported.ts';
import { type ConvoyReport, makeReport } from './make-report.ts';
import { type ConvoyMetrics, findTrend, measureConvoy, type Trend } from './metrics.ts';
import { describeReport } from './report-document.ts';
import { readReportFacts } from './report-facts.ts';
import { writeHtml } from './write-html.ts';
import { writeMarkdown } from './write-markdown.ts';

/** Reports what became of a convoy: what it cost, what failed and why, what is left for a person. */
export async function reportConvoy(orch: Orch, known: KnownConvoy): Promise<ConvoyReport> {
  return makeReport(await readReportFacts(orch, known));
}

/** Writes a report for people. */
export function formatReport(report: ConvoyReport, format: 'markdown' | 'html'): string {
  const document = describeReport(report);
  return format === 'html' ? writeHtml(document) : writeMarkdown(document);
}

/** The numbers of a convoy with thousands of tasks are those of some of them. */
const mostHistories = 100;

/** Puts the newest convoys into numbers, the newest first. */
export async function measureConvoys(
  orch: Orch,
  limit: number,
): Promise<{ readonly convoys: readonly ConvoyMetrics[]; readonly trend: Trend | null }> {
  const convoys: ConvoyMetrics[] = [];
  for (const known of await listNewestConvoys(orch, limit))
    convoys.push(measureConvoy(makeReport(await readReportFacts(orch, known, mostHistories))));
  return { convoys, trend: findTrend(convoys) };
}
