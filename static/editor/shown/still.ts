/** A line as it is stored: where its parts stand in a wide frame and in a narrow one, and the same as SVG. Pure, so that it is
 * the same in a browser and under Node (server.ts). */
import type { Picture } from "../api/line";
import { drawnOf } from "../canvas/drawing";
import { withPlaces } from "../canvas/layout";
import { svgOf } from "../canvas/svg";
import { best } from "../drawing/best";
import type { Engine } from "../drawing/elk";
import { type Frame, type Geometry, type Stored, WINDOWS } from "../drawing/frames";
import { graphOf } from "../drawing/graph";
import { keyOf } from "../drawing/kept";
import { positionsOf } from "../store/document";
import { findingsOf } from "./findings";

/** Picture with its layout, where the server has stored one. */
export type StoredPicture = Picture & { stored?: Stored };

export interface Still {
  geometry: Geometry;
  svg: string;
}

export async function stillOf(picture: Picture, engine: Engine): Promise<Record<Frame, Still>> {
  return { wide: await stillIn("wide", picture, engine), narrow: await stillIn("narrow", picture, engine) };
}

async function stillIn(frame: Frame, picture: Picture, engine: Engine): Promise<Still> {
  const { document: line, marks } = picture;
  const findings = findingsOf(picture);
  const graph = graphOf(line, findings, WINDOWS[frame]);
  const placed = await best(graph, engine);
  const laid = withPlaces(graph, placed, true, positionsOf(line));
  const svg = svgOf({ line, laid, drawn: drawnOf(line, laid, findings), findings, ...(marks ? { marks } : {}) });
  return { geometry: { key: keyOf(graph), placed }, svg };
}
