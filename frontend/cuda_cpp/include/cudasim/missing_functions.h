// Functions of device code that are not there: a program that calls one is told so when it is compiled.
#ifndef CUDASIM_MISSING_FUNCTIONS_H
#define CUDASIM_MISSING_FUNCTIONS_H

#define CUDASIM_MISSING(name, what)                                                                    \
    template <typename Result = int, typename... Arguments>                                            \
    static __device__ __attribute__((unavailable(what " are not part of cudasim (yet)"))) Result name( \
        Arguments...);
#define CUDASIM_NO_TEXTURES(name) CUDASIM_MISSING(name, "textures")
#define CUDASIM_NO_SURFACES(name) CUDASIM_MISSING(name, "surfaces")
// clang-format off
CUDASIM_NO_TEXTURES(tex1Dfetch)
CUDASIM_NO_TEXTURES(tex1D)
CUDASIM_NO_TEXTURES(tex1DLod)
CUDASIM_NO_TEXTURES(tex1DGrad)
CUDASIM_NO_TEXTURES(tex1DLayered)
CUDASIM_NO_TEXTURES(tex2D)
CUDASIM_NO_TEXTURES(tex2DLod)
CUDASIM_NO_TEXTURES(tex2DGrad)
CUDASIM_NO_TEXTURES(tex2Dgather)
CUDASIM_NO_TEXTURES(tex2DLayered)
CUDASIM_NO_TEXTURES(tex2DLayeredLod)
CUDASIM_NO_TEXTURES(tex3D)
CUDASIM_NO_TEXTURES(tex3DLod)
CUDASIM_NO_TEXTURES(tex3DGrad)
CUDASIM_NO_TEXTURES(texCubemap)
CUDASIM_NO_TEXTURES(texCubemapLod)
CUDASIM_NO_TEXTURES(texCubemapLayered)
CUDASIM_NO_SURFACES(surf1Dread)
CUDASIM_NO_SURFACES(surf1Dwrite)
CUDASIM_NO_SURFACES(surf1DLayeredread)
CUDASIM_NO_SURFACES(surf1DLayeredwrite)
CUDASIM_NO_SURFACES(surf2Dread)
CUDASIM_NO_SURFACES(surf2Dwrite)
CUDASIM_NO_SURFACES(surf2DLayeredread)
CUDASIM_NO_SURFACES(surf2DLayeredwrite)
CUDASIM_NO_SURFACES(surf3Dread)
CUDASIM_NO_SURFACES(surf3Dwrite)
CUDASIM_NO_SURFACES(surfCubemapread)
CUDASIM_NO_SURFACES(surfCubemapwrite)
// clang-format on
#undef CUDASIM_NO_TEXTURES
#undef CUDASIM_NO_SURFACES
#undef CUDASIM_MISSING

#endif
